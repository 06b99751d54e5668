#!/usr/bin/env bash
# Coverage-guided fuzzing of everything that reads bytes from outside: libFuzzer and AddressSanitizer, one program for
# all targets. Each target runs for so many seconds; a crash ends it with status 1, and leaves its input in
# .build-fuzz/crashes. New inputs that reach further are kept in .build-fuzz/corpus.
#
#   scripts/fuzz.sh SECONDS [TARGET…]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
build=$PWD/.build-fuzz
mkdir -p "$build/crashes"

# A module of the package: an object with coverage, and its interface. What did not change is not built again.
module() {
    local name=$1 sources=() file
    shift
    while read -r file; do sources+=("$file"); done < <(find "$@" -name '*.swift' | sort)
    if [ -z "${rebuilt:-}" ] && [ -e "$build/$name.o" ] &&
        [ -z "$(find "$@" "$0" Sources/CLinux Sources/CLab -newer "$build/$name.o" -print -quit)" ]; then
        return
    fi
    rebuilt=1
    echo "fuzz: building $name"
    swiftc -O -wmo -enable-testing -parse-as-library -sanitize=fuzzer,address -swift-version 6 \
        -package-name swift_multipath -module-name "$name" \
        -I "$build" -I Sources/CMnl -I Sources/CLinux -I Sources/CLab $(pkg-config --cflags libmnl) \
        -emit-module -emit-module-path "$build/$name.swiftmodule" -c -o "$build/$name.o" "${sources[@]}"
}
module PathCore Sources/PathCore
module LinuxNet Sources/LinuxNet
module LabNet Sources/LabNet
module NetworkLab Sources/NetworkLab
module Fuzz Fuzz/Sources
if [ -n "${rebuilt:-}" ] || [ ! -x "$build/fuzz" ]; then
    swiftc -sanitize=fuzzer,address -o "$build/fuzz" "$build"/{PathCore,LinuxNet,LabNet,NetworkLab,Fuzz}.o \
        $(pkg-config --libs libmnl) 2> "$build/link.log" || { cat "$build/link.log" >&2; exit 1; }
fi

# The tests' recordings of the kernel: datagrams, each behind its length.
python3 - "$build/seeds" <<'END'
import pathlib, struct, sys
fixtures = pathlib.Path("Tests/LinuxNetTests/Fixtures")
for target, names in {"rtnetlink": ["rtnetlink", "rules-nexthops"], "genetlink": ["mptcp-events"]}.items():
    folder = pathlib.Path(sys.argv[1], target)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        data, place = (fixtures / f"{name}.bin").read_bytes(), 0
        while place + 4 <= len(data):
            (length,) = struct.unpack_from("<I", data, place)
            (folder / f"{name}-{place}").write_bytes(data[place + 4 : place + 4 + length])
            place += 4 + length
END

status=0
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(rtnetlink genetlink dbus recordings settings leases resolver control addresses)
for target in "${targets[@]}"; do
    mkdir -p "$build/corpus/$target" "$build/seeds/$target"
    [ ! -d "Fuzz/Corpus/$target" ] || cp -r "Fuzz/Corpus/$target/." "$build/seeds/$target"
    if FUZZ_TARGET=$target "$build/fuzz" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$build/crashes/$target-" "$build/corpus/$target" "$build/seeds/$target" \
        > "$build/$target.log" 2>&1; then
        sed -n -E 's/^#[0-9]+\s+DONE\s+cov: ([0-9]+).*/coverage \1/p; s/^Done ([0-9]+) runs.*/\1 runs/p' \
            "$build/$target.log" | paste -sd' ' | sed "s/^/fuzz: $target: /"
    else
        status=1
        echo "fuzz: $target found something; its input is in .build-fuzz/crashes" >&2
        tail -n 40 "$build/$target.log" >&2
    fi
done
exit $status
