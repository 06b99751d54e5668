import CommandSupport

@main
enum Main {
    static func main() async { await MPathD.runAsProcess() }
}
