#!/usr/bin/env bash
# Runs the service as its container image does, without a container engine: with a read-only root file
# system, as the user 65532 without capabilities. The service uses a private PostgreSQL on a socket. The script prints
# the size, every failed check, then "N passed, N failed". It needs Linux, and the user root for the mounts.
#
#   make check-image
#
# IMAGE=dist/loadaware-image-1.0.0.tar runs the image of a release instead of the working tree. PEAK_IMAGE is the
# image of loadaware-peak of the same release.
set -Euo pipefail
cd "$(dirname "$0")/.."
: "${LOADAWARE_TEST_DSN:?run make check-image}"

if [ -z "${INSIDE:-}" ]; then # enter a private mount namespace; its mounts end with this script
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
check() { # DESCRIPTION COMMAND…
	local description=$1
	shift
	if "$@" >"$work/check" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $description" && tail -n 5 "$work/check"; fi
}
not() { ! "$@"; }

# The root folder of the image, with the files that the Dockerfile copies, or unpacked from IMAGE.
root=$work/root
mkdir "$root"
# Without inlining where no speed is needed, and with functions aligned to 16 instead of 32 bytes, the program is 2.6 MB smaller (linux/amd64).
# OpenTelemetry has inlining, because its names of attributes are constant data then and not code: 0.2 MB.
build() { CGO_ENABLED=0 go build -trimpath $(cat scripts/dist/compact.flags) -ldflags '-s -w -funcalign=16' -o "$root/usr/local/bin/$1" "./cmd/$1" || exit 1; }
# unpack LAYOUT FOLDER extracts an image into a folder and writes its configuration to $work/config.
unpack() { go run -C scripts/dist/pack . unpack "$(realpath "$1")" "linux/$(go env GOARCH)" "$2" >"$work/config" || exit 1; }
if [ -n "${IMAGE:-}" ]; then
	unpack "$IMAGE" "$root"
	check "the image has a numeric user other than root" grep -qx 'user 65532:65532' "$work/config"
	check "the image runs serve" grep -qx 'command /usr/local/bin/loadaware serve' "$work/config"
	check "the image listens on all addresses" grep -q '^environment .*LOADAWARE_ADDR=0.0.0.0:8080' "$work/config"
	check "the image has the version of the program as a label" grep -qx "version $("$root/usr/local/bin/loadaware" version | awk '{ print $2 }')" "$work/config"
	check "the image has the licences" test -s "$root/usr/share/doc/loadaware/LICENSE" -a -s "$root/usr/share/doc/loadaware/THIRD_PARTY_NOTICES.gz"
else
	mkdir -p "$root/usr/local/bin" "$root/etc/ssl/certs" "$root/var/lib/loadaware"
	chown 65532:65532 "$root/var/lib/loadaware"
	build loadaware
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
printf 'the image contains %s bytes (%.1f MB)\n' "$size" "$(echo "$size" | awk '{ print $1 / 1e6 }')"
check "the image has less than 30 MB" test "$size" -lt 30000000
mkdir -p "$root/pg" "$root/tmp" "$root/proc" "$root/dev"
chmod 1777 "$root/tmp" # so that only the read-only mount prevents writes
# loadaware-peak is not part of the image. This script uses it to try a write.
if [ -n "${PEAK_IMAGE:-}" ]; then
	mkdir "$work/peak"
	unpack "$PEAK_IMAGE" "$work/peak"
	check "the image of loadaware-peak runs it" grep -qx 'command /usr/local/bin/loadaware-peak' "$work/config"
	cp "$work/peak/usr/local/bin/loadaware-peak" "$root/usr/local/bin/"
else
	build loadaware-peak
fi
check "the image has the public root certificates" test "$(grep -c 'BEGIN CERTIFICATE' "$root/etc/ssl/certs/ca-certificates.crt")" -gt 80
check "the binary is static" not grep -q "ld-linux" "$root/usr/local/bin/loadaware"

# Mount the root folder read-only except for /dev and /proc, as in a container, and for the socket of PostgreSQL.
sockets=$(printf %s "$LOADAWARE_TEST_DSN" | sed -n 's/.*[?& ]host=\([^& ]*\).*/\1/p' | sed 's/%2F/\//g')
mount --bind "$root" "$root"
mount --bind "$sockets" "$root/pg"
chmod 711 "$sockets" && chmod 777 "$sockets"/.s.PGSQL.* # only the private PostgreSQL of this run uses the folder
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
check "loadaware token creates a token" test -n "$token"
secret=$(echo "$token" | awk '/^token/ { print $2 }')
request() { curl -sS --fail --max-time 10 -H "Authorization: Bearer $secret" -H 'Content-Type: application/json' "$@"; }
# start NAME=VALUE… runs the service as the image does and waits until it is ready.
start() {
	: >"$work/log" # removes the lines of an earlier server
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
check "the service prints its address" grep -q 'serves at http://0.0.0.0:' "$work/log"
check "the service is ready" request "$url/readyz"
check "the service rejects requests without a token" not curl -sS --fail --max-time 10 "$url/tasks"
check "the service runs as 65532" grep -q '^Uid:[[:space:]]65532[[:space:]]65532' "/proc/$server/status"
check "the service has no capability" grep -q '^CapEff:[[:space:]]0000000000000000' "/proc/$server/status"
check "the service stores a report" request "$url/observe" -d '{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max_bytes": 1000000}'
check "the service predicts" request "$url/predict" -d '{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}'
check "the service trains" request -X POST "$url/tasks/d/t/train"
stop

# As in docker-compose.yml: no tokens in the environment, and a volume for the token of the first start.
mount -t tmpfs -o uid=65532,gid=65532,mode=755 tmpfs "$root/var/lib/loadaware"
start LOADAWARE_TOKENS= LOADAWARE_TOKENS_FILE=/var/lib/loadaware/tokens
secret=$(awk '/^token:/ { print $2 }' "$work/log")
check "the first start prints a token" test -n "$secret"
check "the service accepts the token" request "$url/tasks"
check "the service rejects requests without this token" not curl -sS --fail --max-time 10 "$url/tasks"
stop
start LOADAWARE_TOKENS= LOADAWARE_TOKENS_FILE=/var/lib/loadaware/tokens
check "the second start prints no token" not grep -q '^token:' "$work/log"
check "the service still accepts the first token" request "$url/tasks"
stop
