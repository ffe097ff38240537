#!/usr/bin/env bash
# Tests the dashboard of the built server with Chromium and axe-core, or makes the pictures of docs/dashboard.md.
#
#   make build && bash scripts/dashboard/run.sh [short | FOLDER OF THE PICTURES]
#
# With short, the script checks less (play.py).
set -Eeuo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/dashboard/browser.sh
. scripts/dashboard/browser.sh
npm install --silent --no-audit --no-fund --prefix "$tools" axe-core@4.10.3 >/dev/null

data=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-dashboard.XXXXXX")
port=${PORT:-18190}
token=dashboard-test-token-of-an-admin
hash=$(printf %s "$token" | sha256sum | cut -d' ' -f1)
LOADAWARE_TOKENS="tester=admin:$hash" LOADAWARE_DATA="$data/db" LOADAWARE_ADDR="127.0.0.1:$port" LOADAWARE_ADMIN_ADDR="" \
	LOADAWARE_PRICE_GB_HOUR=0.005 LOADAWARE_PRICE_CURRENCY=EUR bin/loadaware serve --demo >"$data/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$data"' EXIT
for _ in $(seq 600); do
	grep -q 'learned the demo' "$data/log" && break
	kill -0 "$server" 2>/dev/null || break
	sleep 0.2
done
grep -q 'learned the demo' "$data/log" || {
	cat "$data/log" >&2
	exit 1
}
"$tools/bin/python" scripts/dashboard/play.py "http://127.0.0.1:$port" "$token" "$CHROMIUM" "$tools/node_modules/axe-core/axe.min.js" "$@"
