import CLinux
import Glibc

/// What a message means to the request that it answers.
enum NetlinkAnswer {
    case data(NetlinkMessage)
    /// An acknowledgement, or a dump's end.
    case end
    case refusal(NetlinkRefusal)

    init(_ message: NetlinkMessage) {
        switch message.type {
        case RouteMessageType.error:
            let refusal = NetlinkRefusal(inError: message)
            self = refusal.errno == 0 ? .end : .refusal(refusal)
        case RouteMessageType.done:
            let refusal = NetlinkRefusal(inDone: message)
            self = refusal.errno == 0 ? .end : .refusal(refusal)
        default: self = .data(message)
        }
    }
}

/// The kernel's refusal of a request: NLMSG_ERROR (struct nlmsgerr), or an NLMSG_DONE that ends a dump early.
struct NetlinkRefusal {
    /// Positive; 0 for an acknowledgement, or a dump that went well; EPROTO where the message can't be read.
    let errno: CInt
    private let message: NetlinkMessage
    /// Where the extended acknowledgement's attributes begin; nil where there are none.
    private let attributes: Int?

    init(inError message: NetlinkMessage) {
        self.message = message
        errno = message.payload.number(Int32.self).map(Self.positive) ?? EPROTO
        guard message.flags & MessageFlags.acknowledgementTLVs != 0 else {
            attributes = nil
            return
        }
        // Behind the code stands the request, of which only the header is left when capped.
        let request = message.payload.number(UInt32.self, at: 4).map(Int.init) ?? 0
        let skipped = message.flags & MessageFlags.capped != 0 ? NetlinkMessage.headerLength : request
        attributes = skipped <= message.payload.count ? 4 + skipped : nil
    }

    init(inDone message: NetlinkMessage) {
        self.message = message
        let code = message.payload.number(Int32.self) ?? 0
        errno = code < 0 ? Self.positive(code) : 0
        attributes = message.flags & MessageFlags.acknowledgementTLVs != 0 ? 4 : nil
    }

    private static func positive(_ code: Int32) -> CInt { code == .min ? EPROTO : -code }

    /// The kernel's own words, if it gave some.
    var detail: String? {
        guard let attributes else { return nil }
        var text: String?
        NetlinkAttributes(message.payload, after: attributes).visit { type, value in
            if type == ExtendedAcknowledgement.message { text = value.text }
        }
        return text
    }

    func error(_ operation: String) -> SystemError {
        SystemError(operation, errno: errno, detail: detail)
    }
}
