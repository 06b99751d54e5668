#!/usr/bin/env bash
# Coverage-guided fuzzing of everything that reads bytes from outside: libFuzzer and AddressSanitizer, one program for
# all targets. Each target runs for so many seconds; a crash ends it with status 1, and leaves its input in
# .build-fuzz/crashes. New inputs that reach further are kept in .build-fuzz/corpus.
#
#   scripts/fuzz.sh SECONDS [TARGET…]
# OPTIMIZATION: -O where it is not said. -Onone is built in a third of the time, and tries fewer inputs in a second.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
build=$PWD/.build-fuzz
optimization=${OPTIMIZATION:--O}
# What is built with one optimization is not taken for another's.
objects=$build/objects$optimization
mkdir -p "$build/crashes" "$objects"

# A module of the package: an object with coverage, and its interface. It is built again where its sources, or a module
# before it, are newer. What a build that was interrupted has half written is in a folder of its own, and goes.
part=$build/part
rm -rf "$part"
trap 'rm -rf "$part"' EXIT
before=()
module() {
    local name=$1 sources=() file
    shift
    before+=("$objects/$name.o")
    if [ -e "$objects/$name.o" ] && [ -e "$objects/$name.swiftmodule" ] &&
        [ -z "$(find "$@" "$0" Sources/CLinux Sources/CLab "${before[@]}" -newer "$objects/$name.o" -print -quit)" ]; then
        return
    fi
    while read -r file; do sources+=("$file"); done < <(find "$@" -name '*.swift' | sort)
    echo "fuzz: building $name"
    mkdir -p "$part"
    swiftc "$optimization" -wmo -enable-testing -parse-as-library -sanitize=fuzzer,address -swift-version 6 \
        -package-name swift_multipath -module-name "$name" \
        -I "$objects" -I Sources/CMnl -I Sources/CLinux -I Sources/CLab -I Sources/CAres \
        $(pkg-config --cflags libmnl libcares) \
        -emit-module -emit-module-path "$part/$name.swiftmodule" -c -o "$part/$name.o" "${sources[@]}"
    mv -f "$part/$name.swiftmodule" "$objects/$name.swiftmodule"
    mv -f "$part/$name.o" "$objects/$name.o"
}
module PathCore Sources/PathCore
module LinuxNet Sources/LinuxNet
module PathBroker Sources/PathBroker
module LabNet Sources/LabNet
module NetworkLab Sources/NetworkLab
# The one file of MultipathDNS that reads bytes by itself.
module Fuzz Fuzz/Sources Sources/MultipathDNS/ServiceMessage.swift
if [ ! -x "$objects/fuzz" ] || [ -n "$(find "${before[@]}" -newer "$objects/fuzz" -print -quit)" ]; then
    mkdir -p "$part"
    swiftc -sanitize=fuzzer,address -o "$part/fuzz" "${before[@]}" \
        $(pkg-config --libs libmnl libcares) 2> "$objects/link.log" || { cat "$objects/link.log" >&2; exit 1; }
    mv -f "$part/fuzz" "$objects/fuzz"
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

# One target; a processor each, as many at a time as there are. One input may take 30 s: libFuzzer counts wall time, which a
# busy machine stretches.
fuzz() {
    local target=$1
    mkdir -p "$build/corpus/$target" "$build/seeds/$target"
    [ ! -d "Fuzz/Corpus/$target" ] || cp -r "Fuzz/Corpus/$target/." "$build/seeds/$target"
    if FUZZ_TARGET=$target "$objects/fuzz" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$build/crashes/$target-" "$build/corpus/$target" "$build/seeds/$target" \
        > "$build/$target.log" 2>&1; then
        sed -n -E 's/^#[0-9]+\s+DONE\s+cov: ([0-9]+).*/coverage \1/p; s/^Done ([0-9]+) runs.*/\1 runs/p' \
            "$build/$target.log" | paste -sd' ' | sed "s/^/fuzz: $target: /"
    else
        { echo "fuzz: $target found something; its input is in .build-fuzz/crashes"; tail -n 40 "$build/$target.log"; } >&2
        return 1
    fi
}
export build objects seconds
export -f fuzz
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(rtnetlink genetlink dbus recordings settings leases resolver https control addresses broker)
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I TARGET bash -euo pipefail -c 'fuzz TARGET' || exit 1
