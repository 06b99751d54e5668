import MultipathNIO

func smallestProgram() async throws {
    // snippet
    let connection = try await MultipathConnection.connect(to: "media.example", port: 443)
    print(connection.transport, connection.establishment?.interface ?? "")
    // end
}
