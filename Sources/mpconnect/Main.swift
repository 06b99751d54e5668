import LinuxNet

@main
enum Main {
    static func main() async {
        // Before any other thread exists: a thread inherits what its maker blocks.
        TerminationSignal.block()
        await MPConnect.runAsProcess()
    }
}
