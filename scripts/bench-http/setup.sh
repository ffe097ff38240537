#!/bin/sh
# Installs the package of the load generator wrk if it is missing.
set -eu
command -v wrk >/dev/null && exit 0
if command -v apt-get >/dev/null; then
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	echo "installing wrk" >&2
	$as_root apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends wrk >/dev/null
elif command -v brew >/dev/null; then
	brew install wrk
else
	echo 'find wrk: not installed; install the package wrk (https://github.com/wg/wrk)' >&2
	exit 1
fi
