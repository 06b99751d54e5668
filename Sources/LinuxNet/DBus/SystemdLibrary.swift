// sd-bus, the D-Bus client in libsystemd, loaded while the program runs.
//
// Why loaded: neither a build nor a run may depend on D-Bus, and most servers and containers have no use for
// it. Why this library and not libdbus-1: sd-bus connects and authenticates without waiting, and is driven
// from outside by one descriptor, its events and a deadline, just what the event thread has. libdbus waits
// for the answer to its greeting in its ordinary calls, and its iterators are structs whose size a caller has
// to know from a header.

import CLinux
import Glibc

/// The functions of sd-bus in use: none takes variable arguments, which Swift could not call. Their types are
/// those of `systemd/sd-bus.h`, version 237 or later.
struct SystemdLibrary: @unchecked Sendable {
    typealias Bus = OpaquePointer
    typealias Message = OpaquePointer
    typealias Slot = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    typealias Out<Value> = UnsafeMutablePointer<Value>
    /// sd_bus_message_handler_t: the message, our own context, an error to fill in.
    typealias Handler = @convention(c) (Message?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CInt

    let new: @convention(c) (Out<Bus?>) -> CInt
    let setAddress: @convention(c) (Bus, Text) -> CInt
    let setBusClient: @convention(c) (Bus, CInt) -> CInt
    let start: @convention(c) (Bus) -> CInt
    let close: @convention(c) (Bus) -> Void
    let unref: @convention(c) (Bus) -> Bus?
    let descriptor: @convention(c) (Bus) -> CInt
    let events: @convention(c) (Bus) -> CInt
    /// Microseconds on CLOCK_MONOTONIC; all bits set for never.
    let deadline: @convention(c) (Bus, Out<UInt64>) -> CInt
    let process: @convention(c) (Bus, Out<Message?>?) -> CInt

    let addMatch: @convention(c) (Bus, Out<Slot?>?, Text, Handler, Handler?, UnsafeMutableRawPointer?) -> CInt
    let call: @convention(c) (Bus, Out<Slot?>?, Message, Handler, UnsafeMutableRawPointer?, UInt64) -> CInt
    let slotUnref: @convention(c) (Slot) -> Slot?

    let newCall: @convention(c) (Bus, Out<Message?>, Text, Text, Text?, Text) -> CInt
    let setAutoStart: @convention(c) (Message, CInt) -> CInt
    let messageUnref: @convention(c) (Message) -> Message?
    let path: @convention(c) (Message) -> Text?
    let member: @convention(c) (Message) -> Text?
    /// The unique name that the bus gave the sender, or the bus's own name.
    let sender: @convention(c) (Message) -> Text?
    /// A sd_bus_error, which begins with a pointer to the error's name.
    let error: @convention(c) (Message) -> UnsafeRawPointer?
    let peekType: @convention(c) (Message, Out<CChar>?, Out<Text?>?) -> CInt
    let enter: @convention(c) (Message, CChar, Text?) -> CInt
    let exit: @convention(c) (Message) -> CInt
    let readBasic: @convention(c) (Message, CChar, UnsafeMutableRawPointer?) -> CInt
    let readArray: @convention(c) (Message, CChar, Out<UnsafeRawPointer?>, Out<Int>) -> CInt
    let skip: @convention(c) (Message, Text) -> CInt

    /// Why there is no such library here.
    struct Missing: Error {
        var reason: String
    }

    /// Opens the library. That reads files, so it is not for the event thread; the process keeps it open.
    static func load(_ names: [String] = ["libsystemd.so.0", "libelogind.so.0"]) throws(Missing) -> Self {
        for name in names {
            if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
                return try SystemdLibrary(name) { dlsym(handle, $0) }
            }
        }
        throw Missing(reason: "neither \(names.joined(separator: " nor ")) can be loaded")
    }

    private struct Symbols {
        let library: String
        let address: (String) -> UnsafeMutableRawPointer?

        func find<Function>(_ name: String) throws(Missing) -> Function {
            guard let symbol = address(name) else { throw Missing(reason: "\(library) has no \(name)") }
            return unsafeBitCast(symbol, to: Function.self)
        }
    }

    /// - Parameter address: finds a function by its name: the seam at which fuzzing stands in for the library.
    init(
        _ library: String = "the library", finding address: (String) -> UnsafeMutableRawPointer?
    ) throws(Missing) {
        self = try withoutActuallyEscaping(address) { address throws(Missing) in
            try SystemdLibrary(Symbols(library: library, address: address))
        }
    }

    private init(_ symbols: Symbols) throws(Missing) {
        new = try symbols.find("sd_bus_new")
        setAddress = try symbols.find("sd_bus_set_address")
        setBusClient = try symbols.find("sd_bus_set_bus_client")
        start = try symbols.find("sd_bus_start")
        close = try symbols.find("sd_bus_close")
        unref = try symbols.find("sd_bus_unref")
        descriptor = try symbols.find("sd_bus_get_fd")
        events = try symbols.find("sd_bus_get_events")
        deadline = try symbols.find("sd_bus_get_timeout")
        process = try symbols.find("sd_bus_process")
        addMatch = try symbols.find("sd_bus_add_match_async")
        call = try symbols.find("sd_bus_call_async")
        slotUnref = try symbols.find("sd_bus_slot_unref")
        newCall = try symbols.find("sd_bus_message_new_method_call")
        setAutoStart = try symbols.find("sd_bus_message_set_auto_start")
        messageUnref = try symbols.find("sd_bus_message_unref")
        path = try symbols.find("sd_bus_message_get_path")
        member = try symbols.find("sd_bus_message_get_member")
        sender = try symbols.find("sd_bus_message_get_sender")
        error = try symbols.find("sd_bus_message_get_error")
        peekType = try symbols.find("sd_bus_message_peek_type")
        enter = try symbols.find("sd_bus_message_enter_container")
        exit = try symbols.find("sd_bus_message_exit_container")
        readBasic = try symbols.find("sd_bus_message_read_basic")
        readArray = try symbols.find("sd_bus_message_read_array")
        skip = try symbols.find("sd_bus_message_skip")
    }
}
