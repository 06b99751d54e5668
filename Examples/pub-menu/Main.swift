// A pub and its guest, as in Apple's demonstration of 2019: pictures in two sizes that follow Low Data Mode, and prices by
// WebSocket, with the round trips.
//
//   pub-menu serve PORT              the pub: menu and pictures by HTTP at that port, prices by WebSocket at the next one
//   pub-menu show HOST PORT [COUNT]  the guest: shows the menu, then so many prices; all that come unless a count is given
//
// Walk out of Wi-Fi while prices come in. Say that data is to be saved (`mplab set wlan0 constrained yes` in a lab), and look
// at the menu again.

#if HTTP
    import Foundation

    @main
    enum Main {
        static func main() async {
            let words = Array(CommandLine.arguments.dropFirst())
            do {
                switch (words.first, words.count) {
                case ("serve", 2): try await Pub(port: Int(words[1]) ?? 8080).serve()
                case ("show", 3...4):
                    let guest = Guest(host: words[1], port: Int(words[2]) ?? 8080)
                    try await guest.visit(prices: words.count > 3 ? Int(words[3]) : nil)
                default:
                    print("usage: pub-menu serve PORT | pub-menu show HOST PORT [COUNT]")
                    exit(2)
                }
            } catch {
                print("pub-menu: \(error)")
                exit(1)
            }
        }
    }
#else
    @main
    enum Main {
        static func main() { print("pub-menu is part of the trait HTTP") }
    }
#endif
