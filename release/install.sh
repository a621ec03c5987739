#!/bin/sh
# Installs secateur from a release: a folder, or a web address below which its files are.
#
#   sh install.sh --from FOLDER-OR-URL [--prefix FOLDER]
#
# --from    where the release is; by default the variable SECATEUR_RELEASE, else the folder of this script
# --prefix  installs bin/secateur below it; default /usr/local
#
# The archive is checked against SHA256SUMS of the release, and nothing is installed if it does not match.
set -eu

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

from=${SECATEUR_RELEASE:-} prefix=/usr/local
while [ $# -gt 0 ]; do
    case $1 in
    --from) [ $# -ge 2 ] || fail "--from wants a folder or an address"; from=$2; shift 2 ;;
    --prefix) [ $# -ge 2 ] || fail "--prefix wants a folder"; prefix=$2; shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "unknown argument $1; see --help" ;;
    esac
done
if [ -z "$from" ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    [ -e "$here/SHA256SUMS" ] || fail "name the release: --from FOLDER-OR-URL"
    from=$here
fi

system=$(uname -s)
[ "$system" = Linux ] || fail "there is no release for $system; build it with: cargo install --path crates/secateur"
case $(uname -m) in
x86_64 | amd64) arch=x86_64 ;;
aarch64 | arm64) arch=aarch64 ;;
*) fail "there is no release for $(uname -m); build it with: cargo install --path crates/secateur" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fetch() { # file name
    case $from in
    http://* | https://*)
        if command -v curl >/dev/null; then
            curl -fsSL -o "$work/$1" "${from%/}/$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$work/$1" "${from%/}/$1"
        else
            fail "curl or wget is needed to download"
        fi
        ;;
    *) cp "$from/$1" "$work/$1" ;;
    esac || fail "$from has no $1"
}

fetch SHA256SUMS
name=$(awk -v ending="-$arch-linux.tar.gz" '
    substr($2, 1, 9) == "secateur-" && substr($2, length($2) - length(ending) + 1) == ending { print $2; exit }' "$work/SHA256SUMS")
[ -n "$name" ] || fail "the release has no archive for $arch"
case $name in */*) fail "SHA256SUMS names a file outside of the release: $name" ;; esac
fetch "$name"
if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$work/$name" | cut -d ' ' -f 1)
else
    found=$(shasum -a 256 "$work/$name" | cut -d ' ' -f 1)
fi
wanted=$(awk -v name="$name" '$2 == name { print $1; exit }' "$work/SHA256SUMS")
[ "$found" = "$wanted" ] || fail "the checksum of $name is wrong: $found instead of $wanted; nothing was installed"

mkdir "$work/unpacked"
tar -xzf "$work/$name" -C "$work/unpacked"
program=$work/unpacked/${name%.tar.gz}/secateur
version=$("$program" --version) || fail "the program of the release does not start on this machine; nothing was installed"
mkdir -p "$prefix/bin" || fail "$prefix cannot be written; use --prefix, or run it as root"
# Renamed into place, so that a program that runs is not overwritten.
cp "$program" "$prefix/bin/.secateur.new" || fail "$prefix/bin cannot be written; use --prefix, or run it as root"
chmod 755 "$prefix/bin/.secateur.new"
mv "$prefix/bin/.secateur.new" "$prefix/bin/secateur"
echo "$version is installed: $prefix/bin/secateur"
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "$prefix/bin is not in PATH" ;; esac
echo "Next: secateur demo, or secateur run claude"
