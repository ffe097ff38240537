#!/usr/bin/env bash
# Backs up a filled database, restores it beside the original, and compares the copy with the original: rows and hashes of
# every table, and the answers of a server. Finally it damages the copy in two ways. The comparison of the rows must find a
# changed row, and the comparison of the answers must find a lost model. The script uses a private PostgreSQL.
#
#   make backup-drill
set -Euo pipefail
cd "$(dirname "$0")/.."
: "${LOADAWARE_TEST_DSN:?run make backup-drill}"
bin=$(realpath "${1:-bin/loadaware}")
cluster=$LOADAWARE_TEST_DSN
unset DATABASE_URL "${!LOADAWARE_@}"

# tool NAME prints the path of a client program of PostgreSQL.
tool() {
	local found
	for found in "${PG_BINDIR:-/none}/$1" /usr/lib/postgresql/*/bin/"$1" /opt/homebrew/opt/postgresql*/bin/"$1" "$(command -v "$1" || true)"; do
		if [ -x "$found" ]; then
			echo "$found"
			return
		fi
	done
	echo "find $1: not installed; install the client programs of PostgreSQL" >&2
	return 1
}
psql=$(tool psql) dump=$(tool pg_dump) restore=$(tool pg_restore) || exit 1

work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-drill.XXXXXX")
server='' failed=0 checks=0
name="drill_$$"
finish() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	"$psql" -qX "$cluster" -c "DROP DATABASE IF EXISTS ${name}_a WITH (FORCE)" -c "DROP DATABASE IF EXISTS ${name}_b WITH (FORCE)" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

check() { # check DESCRIPTION COMMAND…
	local description=$1
	shift
	checks=$((checks + 1))
	"$@" || { failed=$((failed + 1)); echo "FAILED: $description" >&2; }
}
differs() { ! cmp -s "$1" "$2"; }

# dsn NAME prints the DSN of the database NAME in the same cluster.
dsn() { echo "$cluster" | sed -E "s#^([a-z]+://[^/?]*/?)[^?]*#\1$1#; s#(://[^/?]*)(\?|$1)#\1/\2#; s#//$1#/$1#"; }

sql() { "$psql" -qXAt -v ON_ERROR_STOP=1 "$(dsn "$1")" -c "$2"; }

# summary NAME prints one line per table: the number of rows, and a hash that does not depend on their order.
summary() {
	local table
	for table in $(sql "$1" "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"); do
		sql "$1" "SELECT '$table', count(*), coalesce(md5(string_agg(hash, '' ORDER BY hash)), '-') FROM (SELECT md5(t::text) AS hash FROM \"$table\" t) h"
	done
}

serve() { # serve NAME ARGUMENTS…
	local name=$1 log="$work/log"
	shift
	: >"$log"
	DATABASE_URL=$(dsn "$name") "$bin" serve --addr 127.0.0.1:0 --admin-addr '' "$@" >"$log" 2>&1 &
	server=$!
	for _ in $(seq 600); do
		url=$(grep -oE 'https?://127\.0\.0\.1:[0-9]+' "$log" | head -n 1)
		[ -z "$url" ] || [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/readyz")" != 200 ] || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$log" >&2
	return 1
}
stop() { kill "$server"; wait "$server"; server=''; }

# answers prints 40 predictions without their ids.
answers() {
	local n
	for n in $(seq 40); do
		curl -sS -H 'Content-Type: application/json' "$url/predict" -d "{\"dag_id\": \"pricing\", \"task_id\": \"predict_demand\",
			\"requested\": {\"memory\": \"350Gi\"}, \"features\": {\"product_count\": $((n * 31)), \"region\": \"apac\", \"sale_start\": \"2020-02-05\", \"sale_end\": \"2020-02-25\"}}" |
			sed -E 's/"prediction_id": ?"[^"]*"//'
		echo
	done
}

sql postgres "CREATE DATABASE ${name}_a" && sql postgres "CREATE DATABASE ${name}_b" || exit 1
# The database gets only one task, so that all answers come from one model.
gzip -dc testdata/demo/pricing.csv.gz | grep -E 'task_id|predict_demand' | DATABASE_URL=$(dsn "${name}_a") "$bin" import - >"$work/import" || exit 1
serve "${name}_a" || exit 1
for _ in $(seq 600); do # until no training is due, because a training would change the answers
	[ "$(sql "${name}_a" "SELECT (SELECT count(*) FROM model) > 0 AND count(*) = 0 FROM tally JOIN lease USING (task) WHERE due_at IS NOT NULL OR until IS NOT NULL")" != t ] || break
	sleep 0.1
done
answers >"$work/first" # the server stores receipts of these answers, so that the backup has some
stop
serve "${name}_a" || exit 1
answers >"$work/answers.a"
stop

"$dump" -Fc -f "$work/backup" "$(dsn "${name}_a")" || exit 1
"$restore" --no-owner --exit-on-error -d "$(dsn "${name}_b")" "$work/backup" || exit 1
summary "${name}_a" >"$work/rows.a"
summary "${name}_b" >"$work/rows.b"
cat "$work/rows.b"
check "the copy has the same rows and hashes as the original" cmp "$work/rows.a" "$work/rows.b"
check "the copy has observations, models and receipts" [ "$(grep -cE '^(observation|model|receipt_compact)\|[1-9]' "$work/rows.b")" -eq 3 ]
check "loadaware doctor finds no fault" env DATABASE_URL="$(dsn "${name}_b")" "$bin" doctor
serve "${name}_b" || exit 1
answers >"$work/answers.b"
stop
check "the copy gives the same 40 answers" cmp "$work/answers.a" "$work/answers.b"
check "a model gives all answers" [ "$(grep -cE '"source": ?"model"' "$work/answers.b")" -eq 40 ]

# The comparison of rows must find a changed row; the comparison of answers must find a lost model. The predictions
# above have stored receipts in the copy, so its rows are read once more before the change.
summary "${name}_b" >"$work/rows.before"
sql "${name}_b" "UPDATE observation SET memory_max = memory_max + 1 WHERE seq = (SELECT min(seq) FROM observation)"
summary "${name}_b" >"$work/rows.damaged"
check "the comparison finds a change in one row" differs "$work/rows.before" "$work/rows.damaged"
sql "${name}_b" "UPDATE task SET active_version = NULL"
serve "${name}_b" || exit 1
answers >"$work/answers.damaged"
stop
check "the comparison finds a lost model" differs "$work/answers.a" "$work/answers.damaged"

echo "backup of $(du -k "$work/backup" | cut -f1) kB: $((checks - failed)) of $checks checks passed"
[ "$failed" -eq 0 ]
