import LinuxNet

@main
enum Main {
    static func main() async {
        TerminationSignal.install()
        await MPConnect.runAsProcess()
    }
}
