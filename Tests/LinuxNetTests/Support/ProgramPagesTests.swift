import Testing

@testable import LinuxNet

@Suite("The pages of a program's files")
struct ProgramPagesTests {
    @Test("are given back where nothing has changed them, and no other")
    func unchanged() {
        let map = """
            00400000-00500000 r--p 00000000 fe:00 1 /usr/sbin/mpathd
            Size: 1024 kB
            Anonymous:             0 kB
            VmFlags: rd mr mw me
            00500000-00600000 r-xp 00100000 fe:00 1 /usr/sbin/mpathd with a space
            Anonymous:             0 kB
            00600000-00601000 r--p 00200000 fe:00 1 /usr/sbin/mpathd
            Anonymous:             4 kB
            00601000-00700000 rw-p 00200000 fe:00 1 /usr/sbin/mpathd
            Anonymous:             0 kB
            00800000-00900000 r--p 00000000 00:00 0
            Anonymous:             0 kB
            7fff0000-7fff2000 r-xp 00000000 00:00 0                          [vdso]
            Anonymous:             0 kB
            zz-7fff2000 r-xp 00000000 00:00 0 /a
            Anonymous:             0 kB
            00900000-00800000 r-xp 00000000 00:00 0 /a
            Anonymous:
            """
        #expect(ProgramPages.unchanged(in: map) == [0x40_0000..<0x50_0000, 0x50_0000..<0x60_0000])
        #expect(ProgramPages.unchanged(in: "") == [])
    }

    @Test("are read again where they are needed")
    func release() {
        for _ in 0..<3 { ProgramPages.release() }
        #expect((0..<1_000).map { "\($0)" }.joined().count == 2_890)
    }
}
