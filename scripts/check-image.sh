#!/usr/bin/env bash
# Runs the service as its container image does, without a container engine: only the programs and
# the CA certificates in a read-only root, as user 65532 without capabilities, with a private
# PostgreSQL on a socket. Prints the size, every failed check, then "N passed, N failed". Needs Linux,
# and root for the mounts.
#
#   go run ./internal/pglocal/pgtest/withpg bash scripts/check-image.sh
set -Euo pipefail
cd "$(dirname "$0")/.."
: "${LOADAWARE_TEST_DSN:?run make check-image}"

if [ -z "${INSIDE:-}" ]; then # a private mount namespace, which ends with this script together with its mounts
	exec env INSIDE=1 unshare --mount --propagation private bash "$0" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-image.XXXXXX")
server="" passed=0 failed=0
finish() {
	[ -n "$server" ] && kill -KILL "$server" 2>/dev/null
	umount -R "$work/root" 2>/dev/null
	[ "$failed" -eq 0 ] || cat "$work/log"
	rm -rf "$work"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
trap 'finish; exit $?' EXIT
check() { # CLAIM COMMAND…
	local claim=$1
	shift
	if "$@" >"$work/check" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $claim" && tail -n 5 "$work/check"; fi
}
not() { ! "$@"; }

# The files of the image, as the Dockerfile copies them.
root=$work/root
mkdir -p "$root/usr/local/bin" "$root/etc/ssl/certs" "$root/pg" "$root/tmp" "$root/proc" "$root/dev" "$root/var/lib/loadaware"
chown 65532:65532 "$root/var/lib/loadaware"
chmod 1777 "$root/tmp" # so that only the read-only mount prevents writes
build() { CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$root/usr/local/bin/$1" "./cmd/$1" || exit 1; }
build loadaware
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
printf 'the image holds %s bytes (%.1f MB)\n' "$size" "$(echo "$size" | awk '{ print $1 / 1e6 }')"
check "less than 30 MB" test "$size" -lt 30000000
build loadaware-peak # not part of this image; it tries to write
check "the binary is static" not grep -q "ld-linux" "$root/usr/local/bin/loadaware"

# Read-only except for /dev and /proc, as in a container, and the socket of PostgreSQL.
sockets=$(printf %s "$LOADAWARE_TEST_DSN" | sed -n 's/.*[?& ]host=\([^& ]*\).*/\1/p' | sed 's/%2F/\//g')
mount --bind "$root" "$root"
mount --bind "$sockets" "$root/pg"
chmod 711 "$sockets" && chmod 777 "$sockets"/.s.PGSQL.* # those of this run only
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mount -o remount,bind,ro "$root"
dsn=$(printf %s "$LOADAWARE_TEST_DSN" | sed "s|host=[^& ]*|host=/pg|")

# inside runs a program as the user of the image, without capabilities and without a way to gain any.
inside() {
	setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$root" "/usr/local/bin/$1" "${@:2}"
}

inside loadaware-peak install /tmp >"$work/install" 2>&1
check "the root is read-only" grep -q "read-only file system" "$work/install"
token=$(inside loadaware token --role admin) || token=""
check "a token is created" test -n "$token"
secret=$(echo "$token" | awk '/^token/ { print $2 }')
request() { curl -sS --fail --max-time 10 -H "Authorization: Bearer $secret" -H 'Content-Type: application/json' "$@"; }
# start NAME=VALUE… runs the service as the image does and waits until it is ready.
start() {
	env DATABASE_URL="$dsn" LOADAWARE_ADDR=0.0.0.0:0 LOADAWARE_ADMIN_ADDR= "$@" \
		setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$root" /usr/local/bin/loadaware serve >"$work/log" 2>&1 &
	server=$!
	for _ in $(seq 600); do grep -q 'serves at' "$work/log" && break; kill -0 "$server" || break; sleep 0.1; done
	url=http://127.0.0.1:$(sed -n 's|.*serves at http://.*:\([0-9]*\)$|\1|p' "$work/log")
	for _ in $(seq 600); do curl -sS --fail --max-time 10 "$url/readyz" >/dev/null 2>&1 && break; kill -0 "$server" || break; sleep 0.1; done
}
stop() {
	kill -TERM "$server"
	wait "$server"
	check "exit code 0 after SIGTERM" test $? -eq 0
	server=""
}

start LOADAWARE_TOKENS="$(echo "$token" | awk '/^granted/ { print $2 }')"
check "it serves" grep -q 'serves at http://0.0.0.0:' "$work/log"
check "it is ready" request "$url/readyz"
check "it rejects requests without the token" not curl -sS --fail --max-time 10 "$url/tasks"
check "it runs as 65532" grep -q '^Uid:[[:space:]]65532[[:space:]]65532' "/proc/$server/status"
check "it has no capability" grep -q '^CapEff:[[:space:]]0000000000000000' "/proc/$server/status"
check "it stores a report" request "$url/observe" -d '{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max_bytes": 1000000}'
check "it predicts" request "$url/predict" -d '{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}'
check "it trains" request -X POST "$url/tasks/d/t/train"
stop

# As in docker-compose.yml: no tokens, and a volume for the tokens of the first start.
mount -t tmpfs -o uid=65532,gid=65532,mode=755 tmpfs "$root/var/lib/loadaware"
start LOADAWARE_TOKENS= LOADAWARE_TOKENS_FILE=/var/lib/loadaware/tokens
secret=$(awk '/^token:/ { print $2 }' "$work/log")
check "the first start prints a token" test -n "$secret"
check "the service accepts the token" request "$url/tasks"
check "the service rejects requests without it" not curl -sS --fail --max-time 10 "$url/tasks"
stop
start LOADAWARE_TOKENS= LOADAWARE_TOKENS_FILE=/var/lib/loadaware/tokens
check "the second start prints no token" not grep -q '^token:' "$work/log"
check "the service still accepts the first token" request "$url/tasks"
stop
