import Testing

@testable import PathCore

@Suite("Addresses")
struct AddressBookTests {
    private let first = IPAddress("192.0.2.1")!

    @Test("are numbered in turn, from the first subflow's 0, and keep their numbers")
    func numbers() {
        var book = AddressBook(first: first)
        let addresses = ["198.51.100.1", "2001:db8::1"].map { IPAddress($0)! }
        #expect(addresses.map { book.id(of: $0) { _ in true } } == [1, 2])
        #expect(book.id(of: first) { _ in true } == 0)
        #expect(book.id(of: addresses[1]) { _ in true } == 2)
    }

    @Test("take the number of one without subflows when all are taken, never the first one's")
    func exhausted() {
        var book = AddressBook(first: first)
        for number in 1...255 as ClosedRange<UInt32> {
            #expect(book.id(of: IPAddress(ipv4: number)) { _ in true } == UInt8(number))
        }
        let new = IPAddress(ipv4: 1000)
        #expect(book.id(of: new) { _ in true } == nil)
        #expect(book.id(of: new) { $0 != IPAddress(ipv4: 7) && $0 != first } == 7)
    }

    @Test("can be taken back as long as the kernel knows them: not after a subflow of theirs was destroyed")
    func withdrawal() {
        var book = AddressBook(first: first)
        let local = SubflowAction.LocalAddress(IPAddress("198.51.100.1")!, id: 1)
        #expect(book.canWithdraw(SubflowAction.LocalAddress(first, id: 0)))
        #expect(!book.canWithdraw(local))
        book.made(local)
        #expect(book.canWithdraw(local))
        book.destroyed(local.address)
        #expect(!book.canWithdraw(local))
    }
}
