// Messages of D-Bus, by a library that stands in for sd-bus and makes up each answer from the input. It answers more than
// sd-bus would, which checks signatures: what holds here holds there.

import Glibc
import PathCore

@testable import LinuxNet

/// The signals and the answer that the watch reads, one after the other, of one input.
func busMessages(_ bytes: UnsafeRawBufferPointer) {
    rest = Array(bytes)[...]
    guard let library = try? SystemdLibrary(finding: function),
        let any = OpaquePointer(bitPattern: 1)
    else { fatalError("no library") }
    let message = BusMessage(any, library)
    var decoder = NetworkManagerDecoder()
    var objects = decoder.objects(message) ?? NetworkManagerObjects()
    while !rest.isEmpty {
        if byte() % 2 == 0 {
            _ = decoder.apply(objectSignal: message, to: &objects)
        } else {
            _ = decoder.apply(propertiesChanged: message, to: &objects)
        }
        _ = (objects.devices, message.sender, message.errorName)
    }
}

// libFuzzer runs one input at a time, on one thread.
nonisolated(unsafe) private var rest: ArraySlice<UInt8> = []

private func byte() -> UInt8 { rest.popFirst() ?? 0 }

/// Words that lead further, for numbers below their count; otherwise bytes of the input.
nonisolated(unsafe) private let words = [
    "org.freedesktop.NetworkManager.Device", "org.freedesktop.NetworkManager.Device.Wireless",
    "org.freedesktop.NetworkManager.AccessPoint", "org.freedesktop.NetworkManager.IP4Config",
    "org.freedesktop.NetworkManager.IP6Config", "Interface", "IpInterface", "HwAddress", "Metered",
    "Ip4Config",
    "Ip6Config", "ActiveAccessPoint", "Ssid", "NameserverData", "Nameservers", "address", "192.0.2.1",
    "fe80::1",
    "wlan0", "/a", "/b", "02:00:00:00:00:01", "s", "u", "o", "ay", "aa{sv}", "au", "aay", "InterfacesRemoved",
    "",
].compactMap { (word: String) in strdup(word) }
nonisolated(unsafe) private let textBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: 32)
nonisolated(unsafe) private let dataBuffer = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 16)

private func word() -> UnsafePointer<CChar> {
    let number = Int(byte())
    if number < words.count { return UnsafePointer(words[number]) }
    let count = min(number % 31, rest.count)
    for place in 0..<count { textBuffer[place] = CChar(bitPattern: byte()) }
    textBuffer[count] = 0
    return UnsafePointer(textBuffer)
}

private typealias Message = SystemdLibrary.Message
private typealias Text = SystemdLibrary.Text

private func function(_ name: String) -> UnsafeMutableRawPointer? {
    typealias GetText = @convention(c) (Message) -> Text?
    typealias PeekType =
        @convention(c) (
            Message, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Text?>?
        ) -> CInt
    typealias Enter = @convention(c) (Message, CChar, Text?) -> CInt
    typealias Exit = @convention(c) (Message) -> CInt
    typealias ReadBasic = @convention(c) (Message, CChar, UnsafeMutableRawPointer?) -> CInt
    typealias ReadArray =
        @convention(c) (
            Message, CChar, UnsafeMutablePointer<UnsafeRawPointer?>, UnsafeMutablePointer<Int>
        ) -> CInt
    typealias Skip = @convention(c) (Message, Text) -> CInt
    typealias GetError = @convention(c) (Message) -> UnsafeRawPointer?
    switch name {
    case "sd_bus_message_get_path", "sd_bus_message_get_member", "sd_bus_message_get_sender":
        let body: GetText = { _ in word() }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_get_error":
        let body: GetError = { _ in nil }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_peek_type":
        let body: PeekType = { _, type, contents in
            guard !rest.isEmpty else { return -EBADMSG }
            type?.pointee = CChar(UInt8(ascii: "v"))
            contents?.pointee = word()
            let status = byte()
            return status == 255 ? -EBADMSG : CInt(status % 4 == 0 ? 0 : 1)
        }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_enter_container":
        let body: Enter = { _, _, _ in byte() == 255 ? -ENXIO : 1 }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_exit_container":
        let body: Exit = { _ in byte() == 255 ? -EBUSY : 1 }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_read_basic":
        let body: ReadBasic = { _, type, value in
            guard !rest.isEmpty else { return -EBADMSG }
            if UInt8(bitPattern: type) == UInt8(ascii: "u") {
                value?.storeBytes(of: UInt32(byte()) << 24 | UInt32(byte()), as: UInt32.self)
            } else {
                value?.storeBytes(of: word(), as: Text?.self)
            }
            return 1
        }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_read_array":
        let body: ReadArray = { _, _, start, count in
            guard !rest.isEmpty else { return -EBADMSG }
            count.pointee = min(Int(byte()), rest.count)
            for place in 0..<count.pointee {
                dataBuffer.storeBytes(of: byte(), toByteOffset: place, as: UInt8.self)
            }
            // sd-bus has no bytes for an empty array.
            start.pointee = count.pointee == 0 ? nil : UnsafeRawPointer(dataBuffer)
            return 1
        }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    case "sd_bus_message_skip":
        let body: Skip = { _, _ in byte() == 255 ? -EBADMSG : 1 }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    default:
        // Of connections, which are not called.
        let body: Exit = { _ in -ENOSYS }
        return unsafeBitCast(body, to: UnsafeMutableRawPointer.self)
    }
}
