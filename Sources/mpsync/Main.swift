import CommandSupport
import LinuxNet

@main
enum Main {
    static func main() async {
        #if HTTP && Outbox
            TerminationSignal.install()
            await MPSync.runAsProcess()
        #else
            Diagnostics.write(
                "mpsync: it was built without what it needs; build it with: swift build --traits HTTP,Outbox --product mpsync"
            )
            CommandExit.usage.leave()
        #endif
    }
}
