#if HTTP
    import Multipath

    /// A resolver, with what tells it from another one.
    struct Resolving: Sendable, Hashable {
        /// Of resolvers whose type says nothing about equality.
        private final class Identity: Sendable {}

        private enum Mark: @unchecked Sendable, Hashable {
            case object(ObjectIdentifier)
            /// Of a resolver, and so of something that is sendable.
            case value(AnyHashable)
        }

        let resolver: any Resolver
        private let mark: Mark
        private let identity: Identity?

        init(_ resolver: any Resolver) {
            self.resolver = resolver
            if let value = resolver as? any Hashable {
                (mark, identity) = (.value(AnyHashable(value)), nil)
            } else if type(of: resolver) is AnyClass {
                (mark, identity) = (.object(ObjectIdentifier(resolver as AnyObject)), nil)
            } else {
                let identity = Identity()
                (mark, self.identity) = (.object(ObjectIdentifier(identity)), identity)
            }
        }

        static func == (one: Resolving, other: Resolving) -> Bool { one.mark == other.mark }

        func hash(into hasher: inout Hasher) { hasher.combine(mark) }
    }
#endif
