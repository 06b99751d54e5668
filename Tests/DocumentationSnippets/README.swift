import MultipathNIO

func smallestProgram() async throws {
    // snippet
    let connection = try await MultipathConnection.connect(host: "media.example", port: 443)
    print(connection.transport, connection.establishment?.path ?? "")
    // end
}
