#!/usr/bin/env bash
# Builds the documentation of the pages in Documentation.docc and of all public symbols, by the toolchain's own docc.
# A warning is an error: a link that leads nowhere, a parameter that is not documented where others of its function are.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(PathCore Multipath MultipathNIO MultipathTLS MultipathHTTP MultipathWebSocket MultipathOutbox MultipathDNS MultipathService MultipathTesting NetworkLab)
target=.build/documentation

scripts/snippets.py
log=$(mktemp)
graphs=$(mktemp -d)
trap 'rm -rf "$log" "$graphs"' EXIT
# The same build as the tests', so that nothing is built twice. (`swift package dump-symbol-graph` orders the traits differently,
# and compiles all of the package again.)
options=(--traits Service,HTTP,Outbox)
scripts/swift.sh build "${options[@]}" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
built=$(scripts/swift.sh build "${options[@]}" --show-bin-path)
# Where the C modules are described; for those that have no module map SwiftPM has made one.
maps=()
for map in "$PWD"/Sources/*/module.modulemap "$PWD"/.build/checkouts/*/Sources/*/{,include/}module.modulemap \
    "$built"/*.build/module.modulemap; do
    [ ! -e "$map" ] || maps+=(-Xcc "-fmodule-map-file=$map")
done
for module in "${modules[@]}"; do
    swift symbolgraph-extract -module-name "$module" -I "$built/Modules" "${maps[@]}" -target "$(uname -m)-unknown-linux-gnu" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$graphs"
done
docc=$(command -v docc || echo "$(dirname "$(realpath "$(command -v swift)")")/docc")
rm -rf "$target"
"$docc" convert Documentation.docc --additional-symbol-graph-dir "$graphs" --output-path "$target" \
    --fallback-display-name swift-multipath --fallback-bundle-identifier swift-multipath --warnings-as-errors
echo "docs: $target; to read it: python3 -m http.server --directory $target, then http://localhost:8000/documentation"
