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
# The same build as the tests', so that nothing is built twice. Where the tests were not built, it fails for their own
# module after it has written all others: so the files tell whether it did what is wanted here.
begun=$(mktemp -p "$graphs")
scripts/swift.sh package --traits Service,HTTP,Outbox dump-symbol-graph --skip-synthesized-members > "$log" 2>&1 || true
made=$(sed -n 's/^Files written to //p' "$log")
for module in "${modules[@]}"; do
    if [ ! "$made/$module.symbols.json" -nt "$begun" ]; then
        cat "$log" >&2
        echo "docs: there is no symbol graph of $module" >&2
        exit 1
    fi
    cp "$made/$module"[.@]*.json "$graphs"
done
rm "$begun"
docc=$(command -v docc || echo "$(dirname "$(realpath "$(command -v swift)")")/docc")
rm -rf "$target"
"$docc" convert Documentation.docc --additional-symbol-graph-dir "$graphs" --output-path "$target" \
    --fallback-display-name swift-multipath --fallback-bundle-identifier swift-multipath --warnings-as-errors
echo "docs: $target; to read it: python3 -m http.server --directory $target, then http://localhost:8000/documentation"
