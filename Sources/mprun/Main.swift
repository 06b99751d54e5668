@main
enum Main {
    // Not asynchronous: until the program has been started this process has one thread.
    static func main() {
        MPRun.runOnOneThread(MPRun.separated(Array(CommandLine.arguments.dropFirst())), needsOutput: false)
    }
}
