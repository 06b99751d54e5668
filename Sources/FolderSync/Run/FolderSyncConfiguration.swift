#if HTTP && Outbox
    public import Multipath
    public import MultipathHTTP

    /// What a `FolderSync` is told.
    public struct FolderSyncConfiguration: Sendable {
        /// The folder's path.
        public var folder: String
        /// Where the server's folder is.
        public var server: ServerLocation
        /// Which way changes go, and how much may be deleted.
        public var options = Reconciler.Options()
        /// Files that are transferred at a time. 4 unless set.
        public var transfers = 4
        /// The user's name and password (RFC 7617); nil for none.
        public var credentials: Credentials?
        /// Which paths may carry it. Constrained and expensive ones may not, unless it is set.
        public var policy: PathPolicy
        /// What TLS trusts, and the like.
        public var http = MultipathHTTPClient.Configuration()
        /// While watching: how often the server is asked for changes. 60 s unless set.
        public var interval = Duration.seconds(60)
        /// The pause before a request is sent again; it doubles each time, up to 40 times as long. 250 ms unless set.
        public var retryPause = Duration.milliseconds(250)

        /// A user's name and password.
        public struct Credentials: Sendable {
            /// Without a colon.
            public var user: String
            /// In UTF-8.
            public var password: String

            /// Both.
            public init(user: String, password: String) {
                self.user = user
                self.password = password
            }
        }

        /// Discretionary: it waits where the only paths are constrained or cost money.
        public init(folder: String, server: ServerLocation) {
            self.folder = folder
            self.server = server
            policy = PathPolicy()
            policy.isDiscretionary = true
            policy.allowsConstrainedPaths = false
        }
    }
#endif
