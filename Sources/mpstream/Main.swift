#if HTTP
    import LinuxNet

    @main
    enum Main {
        static func main() async {
            TerminationSignal.install()
            await MPStream.runAsProcess()
        }
    }
#else
    import CommandSupport

    @main
    enum Main {
        static func main() {
            Diagnostics.write(
                "mpstream: built without HTTP; build it by: swift build --traits HTTP --product mpstream")
            CommandExit.usage.leave()
        }
    }
#endif
