import Foundation
import TestSupport
import Testing

@Suite("A thousand connections at once", .needsNamespaces, .needs("ip", "nft", "nginx"))
struct RaceStormTests {
    @Test(
        "to living, refusing, slow and dead servers leave no descriptor, no open handshake and no memory behind"
    )
    func storm() async throws {
        let result = try await TwoPaths.run(
            """
            ulimit -n 16384
            for last in 2 3 4 5; do server ip addr add 203.0.113.$last/32 dev lo; done
            # .1 answers, .2 refuses, .3 is silent by Wi-Fi, .4 loses a quarter of what begins, .5 is dead.
            cat > conf <<CONF
            user root; daemon off; master_process off; pid $PWD/pid; error_log $PWD/error.log;
            events { worker_connections 8192; }
            http {
                access_log off;
                client_body_temp_path $PWD/a; proxy_temp_path $PWD/b;
                fastcgi_temp_path $PWD/c; uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
                server {
                    listen 203.0.113.1:7000 backlog=4096; listen 203.0.113.3:7000 backlog=4096;
                    listen 203.0.113.4:7000 backlog=4096; listen 203.0.113.5:7000 backlog=4096;
                }
            }
            CONF
            server nginx -c $PWD/conf -e $PWD/error.log &
            wait_for nginx server bash -c 'exec 3<>/dev/tcp/203.0.113.1/7000'
            server nft add table inet storm
            server nft add chain inet storm input '{ type filter hook input priority 0; }'
            server nft add rule inet storm input ip daddr 203.0.113.3 iifname w0 drop
            server nft add rule inet storm input ip daddr 203.0.113.4 \
                'tcp flags & (syn|ack) == syn' numgen random mod 4 == 0 drop
            server nft add rule inet storm input ip daddr 203.0.113.5 drop
            "$bin/racestorm" 1000 203.0.113.1:7000=connected 203.0.113.2:7000=failed \
                203.0.113.3:7000=connected 203.0.113.4:7000=connected 203.0.113.5:7000=failed
            """, within: .seconds(180))
        #expect(result.status == 0, "\(result.errors)")
        let match = try #require(
            result.outputText.firstMatch(
                of:
                    #/connected 600 failed 400 unexpected 0 descriptors (-?\d+) kilobytes (\d+)→(\d+) opening (\d+)\n$/#
            ), "\(result.outputText) \(result.errors)")
        #expect(Int(match.1) ?? .max <= 0)
        #expect(match.4 == "0", "sockets in SYN_SENT after the last race")
        // The first thousand made the allocator's pools as large as they get; a sanitizer keeps what is freed.
        let growth = (Int(match.3) ?? .max) - (Int(match.2) ?? 0)
        #expect(Requirement.isSanitized || growth < 16_384, "\(match.0)")
    }
}
