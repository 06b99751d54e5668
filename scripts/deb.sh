#!/usr/bin/env bash
# Makes one Debian package of all commands, the daemon's units, manual pages and completions: scripts/deb.sh FOLDER.
# The Swift runtime is in the programs, so that the package needs Debian's own libraries only.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-.build/deb}")
name=swift-multipath
version=$(sed -n 's/^public let projectVersion = "\(.*\)"$/\1/p' Sources/CommandSupport/ProjectVersion.swift)
architecture=$(dpkg --print-architecture)
date=$(git log -1 --format=%cs 2> /dev/null || date +%F)
maintainer=${DEB_MAINTAINER:-$(git log -1 --format='%an <%ae>' 2> /dev/null)}
commands=(mpconnect mppaths mplab mprun mpstream mpsync)
daemons=(mpathd)

# More for the compiler: SWIFT_BUILD_OPTIONS.
read -ra options <<< "-c release --traits HTTP,Outbox --static-swift-stdlib ${SWIFT_BUILD_OPTIONS:-}"
for program in "${commands[@]}" "${daemons[@]}"; do scripts/swift.sh build "${options[@]}" --product "$program"; done
built=$(scripts/swift.sh build "${options[@]}" --show-bin-path)

root=$out/root
rm -rf "$out"
mkdir -p "$root"/{DEBIAN,usr/bin,usr/sbin,usr/lib/systemd/system} "$root/usr/share/doc/$name" \
    "$root"/usr/share/man/man{1,8} "$root"/usr/share/bash-completion/completions \
    "$root"/usr/share/zsh/vendor-completions "$root"/usr/share/fish/vendor_completions.d

add() {
    local program=$1 folder=$2 section=$3
    install -m 755 "$built/$program" "$root/usr/$folder/$program"
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/$folder/$program"
    "$built/$program" --experimental-dump-help | scripts/manual.py "$section" "$date" \
        | gzip -9n > "$root/usr/share/man/man$section/$program.$section.gz"
    "$built/$program" --generate-completion-script bash | sed '1{/^#!/d}' \
        > "$root/usr/share/bash-completion/completions/$program"
    "$built/$program" --generate-completion-script zsh > "$root/usr/share/zsh/vendor-completions/_$program"
    "$built/$program" --generate-completion-script fish > "$root/usr/share/fish/vendor_completions.d/$program.fish"
}
for program in "${commands[@]}"; do add "$program" bin 1; done
for program in "${daemons[@]}"; do add "$program" sbin 8; done

install -m 644 Packaging/systemd/* "$root/usr/lib/systemd/system"
install -m 644 Packaging/copyright README.md CHANGELOG.md "$root/usr/share/doc/$name"
{
    printf '%s (%s) unstable; urgency=medium\n\n  * CHANGELOG.md beside this file says what changed.\n\n' "$name" "$version"
    printf ' -- %s  %s\n' "$maintainer" "$(date -R --date="$date")"
} | gzip -9n > "$root/usr/share/doc/$name/changelog.gz"
install -m 755 Packaging/debian/* "$root/DEBIAN"
install -D -m 644 Packaging/lintian-overrides "$root/usr/share/lintian/overrides/$name"

# What the programs need of Debian's libraries.
mkdir -p "$out/shlibs/debian"
printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' "$name" "$name" > "$out/shlibs/debian/control"
depends=$(cd "$out/shlibs" && dpkg-shlibdeps -O "$root"/usr/bin/* "$root"/usr/sbin/* 2> "$out/shlibs/log" \
    | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$out/shlibs/log" >&2; exit 1; }

cat > "$root/DEBIAN/control" <<END
Package: $name
Version: $version
Section: net
Priority: optional
Architecture: $architecture
Depends: $depends
Recommends: iproute2
Maintainer: $maintainer
Installed-Size: $(du -k -s --exclude=DEBIAN "$root" | cut -f1)
Description: network paths, connections that survive them, and their daemon
 mppaths watches this machine's network paths, mpconnect connects over the
 best of them and keeps the connection when a path goes bad, mprun does that
 for a program that knows nothing of it, and mplab runs a command in a network
 whose links go bad as they are told to. mpstream plays an HLS stream, and
 mpsync keeps a folder and a WebDAV server the same, wherever one walks
 meanwhile.
 .
 mpathd steers the subflows of Multipath TCP connections for programs that lack
 the privilege to do so: for each program its own connections alone.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
find "$root" -type d -exec chmod 755 {} +
chmod 644 "$root/DEBIAN/control" "$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "$out/${name}_${version}_$architecture.deb" > /dev/null
echo "$out/${name}_${version}_$architecture.deb"
if command -v lintian > /dev/null; then
    lintian --fail-on error,warning "$out/${name}_${version}_$architecture.deb"
else
    echo "deb: lintian is not installed: not checked" >&2
fi
