#!/usr/bin/env bash
# Builds a release from two fresh clones of the current commit, with different folders, time zones, locales and umasks, and
# compares all bytes. It leaves one of the releases in dist/, for make dist-play.
#
#   bash scripts/dist/repeat.sh
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-repeat.XXXXXX")
trap 'rm -rf "$work"' EXIT

# build FOLDER UMASK NAME=VALUE… builds in a clone.
build() {
	git clone -q --no-hardlinks "$repository" "$work/$1"
	(umask "$2" && cd "$work/$1" && time env "${@:3}" bash scripts/dist/dist.sh)
}
build first 022 TZ=UTC LC_ALL=C
build 'another, with a longer name' 077 TZ=Asia/Kathmandu LC_ALL=C.UTF-8 PYTHONHASHSEED=7
diff -r "$work/first/dist" "$work/another, with a longer name/dist"
(cd "$work/first/dist" && cat SHA256SUMS && if command -v sha256sum >/dev/null; then sha256sum -c --quiet SHA256SUMS; else shasum -a 256 -c SHA256SUMS; fi)
rm -rf "$repository/dist"
cp -R "$work/first/dist" "$repository/dist"
echo 'both builds have the same bytes'
