import LinuxNet

@main
enum Main {
    static func main() async {
        TerminationSignal.take()
        await MPConnect.runAsProcess()
    }
}
