import LinuxNet
import TestSupport
import Testing

@Suite("A file that several processes may write")
struct RandomAccessFileTests {
    @Test("is locked by one of them, and not by one that opened it before it got another name")
    func lock() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("film.part")
        var first: RandomAccessFile? = try RandomAccessFile(updating: path)
        let second = try RandomAccessFile(updating: path)
        #expect(first?.lock() == true)
        #expect(!second.lock())
        try RandomAccessFile.rename(path, to: folder.file("film"))
        first = nil
        #expect(!second.lock())
        let third = try RandomAccessFile(updating: path)
        #expect(!second.lock())
        #expect(third.lock())
    }
}
