public import NIOSSL

extension TLSVersion {
    /// `TLSv1.3`
    public var words: String {
        switch self {
        case .tlsv1: "TLSv1"
        case .tlsv11: "TLSv1.1"
        case .tlsv12: "TLSv1.2"
        case .tlsv13: "TLSv1.3"
        }
    }
}
