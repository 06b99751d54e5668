// Files and folders that other programs change: edited in place, replaced by a rename, deleted, made later
// together with the folders above them, led to by symbolic links that change. inotify(7) watches inodes and
// not paths, so each path is walked as the kernel walks it, and what can change its meaning is watched: its
// last folder for the name in it; every folder and link on the way for its own end or move; and where the way
// ends early, the last folder there is for the next name. After a change on the way it is walked again.

import CLinux
import Glibc
import PathCore

/// Says which of some paths may have changed. It lives on the event thread, which it does not wake for what
/// doesn't concern its folders, nor more often than 20 times a second.
final class FileWatch {
    /// What is watched.
    enum Place: Hashable {
        /// A file, wherever links lead. A write counts when its writer closes the file: before that the
        /// text is half there.
        case file(String)
        /// A folder, and whatever is in it, but not below.
        case folder(String)

        var path: String {
            switch self {
            case .file(let path), .folder(let path): path
            }
        }
    }

    private let places: [Place]
    private let thread: EventThread
    private let notifier: Descriptor
    private let buffer: UnsafeMutableRawBufferPointer
    private var registration: EventThread.Token?
    private var pause: EventThread.Token?
    private var onChange: ((Set<Place>) -> Void)?
    /// A file that is replaced wakes this up to four times before its rename, which is what counts: for its lock, the new file's
    /// own name, its writing, and the way to the disk takes milliseconds in between.
    private var budget = ReadingBudget(burst: 6, interval: .milliseconds(50))

    /// By inotify's number for a watch.
    private var watches: [CInt: Watch] = [:]
    /// The places that are not watched as they should be: a folder that may not be read, no watches left.
    private(set) var unwatched: Set<Place> = []

    private struct Watch {
        var path: String
        var mask: UInt32
        var interests: [Interest]
    }

    /// Why an inode is watched.
    private struct Interest {
        let place: Place
        /// The name that matters in the folder; nil for every one.
        var name: String?
        /// Only the inode's own end or move matters.
        var isWay = false
    }

    init(_ places: [Place], on thread: EventThread) throws(SystemError) {
        self.places = places
        self.thread = thread
        notifier = Descriptor(
            owning: try systemCall("make an inotify queue") {
                inotify_init1(CInt(truncatingIfNeeded: IN_CLOEXEC | IN_NONBLOCK))
            })
        buffer = .allocate(byteCount: 16 * 1024, alignment: 8)
        _ = walk()
    }

    deinit { buffer.deallocate() }

    func start(_ onChange: @escaping (Set<Place>) -> Void) throws(SystemError) {
        self.onChange = onChange
        try listen()
    }

    func stop() {
        if let registration { thread.remove(registration) }
        if let pause { thread.cancelTimer(pause) }
        (registration, pause, onChange) = (nil, nil, nil)
    }

    private func listen() throws(SystemError) {
        registration = try thread.add(notifier.number, for: .readable) { [weak self] _ in self?.deliver() }
    }

    /// Reads what is waiting, and delivers it. Where it has just done so, it looks away for a moment, in which more may gather.
    private func deliver() {
        if let next = budget.take(at: .now) {
            if let registration { thread.remove(registration) }
            registration = nil
            pause = thread.schedule(at: next) { [weak self] in
                self?.pause = nil
                try? self?.listen()
            }
            return
        }
        let changed = drain()
        if !changed.isEmpty { onChange?(changed) }
    }

    /// - Returns: the places that may have changed.
    private func drain() -> Set<Place> {
        var changed: Set<Place> = []
        var mustWalk = false
        // The queue holds 16,384 events (fs.inotify.max_queued_events), of which 16 KiB hold at least 60.
        for _ in 0..<300 {
            let count = read(notifier.number, buffer.baseAddress, buffer.count)
            guard count > 0 else { break }
            var rest = UnsafeRawBufferPointer(buffer)[..<count]
            while let event = Event(&rest) {
                if event.isOverflow {
                    changed = Set(places)
                    mustWalk = true
                } else if let watch = watches[event.watch] {
                    if event.hasEnded { watches[event.watch] = nil }
                    for interest in watch.interests
                    where event.concerns(interest.name, isWay: interest.isWay) {
                        changed.insert(interest.place)
                        if event.movesAway || interest.name != nil {
                            mustWalk = mustWalk || event.isStructural
                        }
                    }
                }
            }
        }
        if mustWalk { changed.formUnion(walk()) }
        return changed
    }

    // MARK: Walking

    /// Watches what there is to watch now, and ends the watches that no path needs any more.
    /// - Returns: the places that are now behind other watches. What the old ones still have in the queue is
    ///   not told any more, and the new ones saw nothing yet.
    private func walk() -> Set<Place> {
        let old = watches
        watches = [:]
        unwatched = []
        for place in places where !walk(place) { unwatched.insert(place) }
        for (number, watch) in watches where old[number].map({ $0.mask != watch.mask }) ?? false {
            // Its new role in place of its old one: so far it has both.
            let again = inotify_add_watch(notifier.number, watch.path, watch.mask)
            // The path leads elsewhere since. That is in the queue, and is walked again.
            if again >= 0, watches[again] == nil { _ = inotify_rm_watch(notifier.number, again) }
        }
        for number in old.keys where watches[number] == nil { _ = inotify_rm_watch(notifier.number, number) }
        let moved =
            old.filter { watches[$0.key] == nil }.map(\.value)
            + watches.filter { old[$0.key] == nil }.map(\.value)
        return Set(moved.flatMap { $0.interests.map(\.place) })
    }

    /// - Returns: whether all is watched that tells of this place.
    private func walk(_ place: Place) -> Bool {
        var names = Self.names(in: place.path)
        var folder = "/"
        var links = 0
        while let name = names.popLast() {
            guard name != ".." else {
                folder = folder.split(separator: "/").dropLast().reduce(into: "") { $0 += "/" + $1 }
                if folder.isEmpty { folder = "/" }
                continue
            }
            let path = folder == "/" ? "/" + name : folder + "/" + name
            var isFile = false
            if case .file = place { isFile = names.isEmpty }
            if isFile {
                // Watched first and looked at then: what happens in between is in the queue.
                guard add(folder, Mask.content, Interest(place: place, name: name)) == .watched else {
                    return false
                }
                // A container's file is often mounted here, and written where it comes from.
                _ = add(path, Mask.file, Interest(place: place))
            } else if add(path, Mask.way, Interest(place: place, isWay: true)) == .missing {
                guard add(folder, Mask.appearance, Interest(place: place, name: name)) == .watched else {
                    return false
                }
                // It may have come before that watch.
                if add(path, Mask.way, Interest(place: place, isWay: true)) == .missing { return true }
            }
            if let target = Self.target(of: path) {
                links += 1
                // A loop is no file; neither is one behind more links than the kernel follows.
                guard links <= 40 else { return true }
                if target.hasPrefix("/") { folder = "/" }
                names += Self.names(in: target)
            } else {
                folder = path
            }
        }
        if case .file = place { return true }
        return add(folder, Mask.content | IN_ONLYDIR.bits, Interest(place: place)) != .impossible
    }

    private enum Outcome { case watched, missing, impossible }

    private func add(_ path: String, _ mask: UInt32, _ interest: Interest) -> Outcome {
        let number = inotify_add_watch(notifier.number, path, mask | IN_MASK_ADD.bits)
        guard number >= 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .impossible }
        var watch = watches[number] ?? Watch(path: path, mask: 0, interests: [])
        watch.mask |= mask
        watch.interests.append(interest)
        watches[number] = watch
        return .watched
    }

    private enum Mask {
        /// For links themselves, and folders: never what they lead to, nor what is in them.
        static let way = IN_DELETE_SELF.bits | IN_MOVE_SELF.bits | IN_DONT_FOLLOW.bits
        static let file = way | IN_CLOSE_WRITE.bits
        static let appearance = way | IN_CREATE.bits | IN_MOVED_TO.bits
        static let content =
            appearance | IN_CLOSE_WRITE.bits | IN_MOVED_FROM.bits | IN_DELETE.bits | IN_ATTRIB.bits
    }

    /// A path's names, the first one last.
    private static func names(in path: String) -> [String] {
        path.split(separator: "/").reversed().filter { $0 != "." }.map(String.init)
    }

    static func target(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
            let count = readlink(link, buffer.baseAddress!, buffer.count)
            return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
        }
    }

    /// One struct inotify_event.
    private struct Event {
        let watch: CInt
        private let mask: UInt32
        private let name: String?

        /// Takes the first off the bytes; nil where there is no whole one.
        init?(_ rest: inout Slice<UnsafeRawBufferPointer>) {
            let bytes = UnsafeRawBufferPointer(rebasing: rest)
            guard let watch = bytes.number(CInt.self), let mask = bytes.number(UInt32.self, at: 4),
                let length = bytes.number(UInt32.self, at: 12), bytes.count - 16 >= Int(length)
            else { return nil }
            self.watch = watch
            self.mask = mask
            name = length > 0 ? UnsafeRawBufferPointer(rebasing: bytes[16..<16 + Int(length)]).text : nil
            rest = rest.dropFirst(16 + Int(length))
        }

        private func has(_ bits: CInt) -> Bool { mask & bits.bits != 0 }

        var isOverflow: Bool { has(IN_Q_OVERFLOW) }
        /// The kernel gave the watch up.
        var hasEnded: Bool { has(IN_IGNORED) }
        /// The inode itself is no more, or no more where it was.
        var movesAway: Bool { has(IN_DELETE_SELF) || has(IN_MOVE_SELF) || has(IN_IGNORED) || has(IN_UNMOUNT) }
        /// Something came or went, so that a path may lead elsewhere.
        var isStructural: Bool {
            movesAway || has(IN_CREATE) || has(IN_MOVED_TO) || has(IN_MOVED_FROM) || has(IN_DELETE)
        }

        func concerns(_ wanted: String?, isWay: Bool) -> Bool {
            if movesAway { return true }
            if isWay { return false }
            // Without a name it is the folder's own: its rights, say.
            return wanted == nil || name == nil || name == wanted
        }
    }
}

extension CInt {
    fileprivate var bits: UInt32 { UInt32(bitPattern: self) }
}

extension UInt32 {
    fileprivate var bits: UInt32 { self }
}
