#!/usr/bin/env bash
# One story with the built binary, from serve to retrain, on free ports of loopback
# and in a temporary folder. It prints every check that failed, then
# "N passed, N failed", and fails if any did.
#
#   make build && bash scripts/e2e.sh [path of the binary]
set -Euo pipefail
cd "$(dirname "$0")/.."

bin=$(realpath "${1:-bin/loadaware}")
demo=$(realpath testdata/demo/pricing.csv.gz)
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware e2e.XXXXXX") # a space, as some homes have
chmod 755 "$work"                                         # root's PostgreSQL runs as another user
unset DATABASE_URL "${!LOADAWARE_@}"

passed=0 failed=0 servers=()

finish() {
	for pid in ${servers[@]+"${servers[@]}"}; do
		kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	sleep 1 # the private PostgreSQL ends with its server
	rm -rf "$work"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
trap 'finish; exit $?' EXIT
trap 'exit 130' INT TERM

# check CLAIM COMMAND… holds if the command succeeds.
check() {
	local claim=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $claim: $*" >&2
	fi
}

# said CLAIM TEXT: the last answer or output holds the text.
said() { check "$1" grep -qF -- "$2" "$work/out"; }

# bounded COMMAND… ends a command that hangs; macOS has no timeout of its own.
bounded() {
	if command -v timeout >/dev/null; then timeout 120 "$@"; else perl -e 'alarm 120; exec @ARGV' "$@"; fi
}

# run EXPECTED_CODE ARGUMENTS… runs the binary, bounded, and keeps what it said.
run() {
	local want=$1 code=0
	shift
	bounded "$bin" "$@" >"$work/out" 2>&1 || code=$?
	check "exit code of loadaware $*" [ "$code" -eq "$want" ]
	[ "$code" -eq "$want" ] || cat "$work/out" >&2
}

# call STATUS PATH [BODY] asks the server, by GET or by POST of a body.
call() {
	local want=$1 path=$2 code
	shift 2
	code=$(curl -sS -m 60 -o "$work/out" -w '%{http_code}' "$url$path" ${1:+-H 'Content-Type: application/json' -d "$1"})
	check "status of $path" [ "$code" = "$want" ]
	[ "$code" = "$want" ] || { cat "$work/out" >&2; echo >&2; }
}

# field NAME is a number or string of the last answer, wherever it stands first.
field() {
	grep -oE "\"$1\": ?(\"[^\"]*\"|[0-9.eE+-]+|true|false)" "$work/out" | head -n 1 | sed -E 's/^"[^"]*": ?//; s/"//g'
}

# start FOLDER ARGUMENTS… starts a server, and sets url and pid.
start() {
	local data=$1 log="$work/log.$((${#servers[@]} + 1))"
	shift
	"$bin" serve --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --data "$data" "$@" >"$log" 2>&1 &
	pid=$!
	servers+=("$pid")
	url=
	for _ in $(seq 600); do
		url=$(sed -n 's/^loadaware serves at //p' "$log")
		[ -n "$url" ] && return
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	echo "the server did not start:" >&2
	cat "$log" >&2
	failed=$((failed + 1))
	exit 1
}

# ready waits until the server is.
ready() {
	for _ in $(seq 600); do
		curl -sf -m 5 -o /dev/null "$url/readyz" && return
		sleep 0.1
	done
	return 1
}

# by_model BODY asks until a model answers: the first question after a start waits half a
# second for the model to be opened, and a busy machine may take longer.
by_model() {
	for _ in $(seq 60); do
		call 200 /predict "$1"
		[ "$(field source)" = model ] && return
		sleep 1
	done
	return 1
}

try='"dag_id": "pricing", "task_id": "predict_demand", "run_id": "e2e"'
features='"features": {"product_count": 1200, "store_count": 12, "region": "emea", "sale_start": "2020-02-05", "sale_end": "2020-03-15", "execution_date": "2020-01-20"}'
requested='"requested": {"memory": "350Gi"}'

echo "=== commands that must fail"
run 2
said "what to do without a command" "loadaware COMMAND --help"
run 2 sail
run 2 serve --prot 8080
run 2 serve --addr 0.0.0.0:0 --data "$work/unguarded"
said "open to other machines without tokens" "loadaware token"
check "nothing is left of the refused server" [ ! -e "$work/unguarded" ]
run 1 import --url http://127.0.0.1:1 "$work/nowhere.csv"
run 1 import --data "$work/nothing" "$work/nowhere.csv"
run 1 migrate status --database postgres://127.0.0.1:1/none
run 0 --help
run 0 version

echo "=== serve and import"
start "$work/data"
check "ready" ready
call 404 "/tasks/pricing/predict_demand"
call 200 /predict "{$try, $features, $requested}"
check "what is unknown gets its request, unchanged" [ "$(field source) $(field request_bytes)" = "requested 375809638400" ]
run 0 import --url "$url" --dry-run "$demo"
said "a dry run sends nothing" "nothing was sent"
run 0 import --url "$url" --train "$demo"
said "all rows are new" "900 new, 0 already there, 0 amended, 0 refused"
run 0 import --url "$url" "$demo"
said "importing twice adds nothing" "0 new, 900 already there, 0 amended, 0 refused"
printf 'dag_id,task_id,run_id,memory_max_bytes\netl,load,r1,1000000\netl,load,r2,lots\n' >"$work/partly.csv"
run 3 import --url "$url" "$work/partly.csv"
said "the bad row is named" "line 3: memory_max_bytes"
said "the good row is kept" "1 new"
call 200 /tasks/pricing/predict_demand
check "all runs are counted" [ "$(field observations)" = 150 ]

echo "=== predict, OOM, lift, observe, retrain, predict"
call 200 /predict "{$try, $features, $requested}"
check "the task's own model answers" [ "$(field source)" = model ]
granted=$(field limit_bytes)
check "less than was requested" [ "$granted" -lt 375809638400 ]
call 200 /observe "{$try, \"outcome\": \"oom_killed\", \"allocated\": {\"memory_bytes\": $granted}, $features}"
check "the kill is recorded" [ "$(field recorded) $(field duplicate)" = "true false" ]
call 200 /retry-lift "{$try, \"reason\": \"oom_killed\", \"failed\": {\"memory_bytes\": $granted}, $features, $requested}"
check "it is lifted" [ "$(field verdict)" = lift ]
lifted=$(field limit_bytes)
check "above what was too little" [ "${lifted:-0}" -gt "$granted" ]
call 200 /predict "{$try, \"try_number\": 2, $features, $requested}"
check "the next try asks and gets as much" [ "$(field source) $(field limit_bytes)" = "lift $lifted" ]
peak=$((granted + (lifted - granted) / 2))
report="{$try, \"try_number\": 2, \"outcome\": \"success\", \"memory_max_bytes\": $peak, \"duration_seconds\": 400, \"allocated\": {\"memory_bytes\": $lifted}, $features}"
call 200 /observe "$report"
check "recorded once" [ "$(field duplicate)" = false ]
call 200 /observe "$report"
check "told again, it is known" [ "$(field duplicate)" = true ]
call 409 /observe "${report/success/failed}"
call 200 /tasks/pricing/predict_demand/train '{}'
check "retrained" [ "$(field trained)" = true ]
call 200 /predict "{${try/e2e/e2e-2}, $features, $requested}"
check "a later run is not lifted" [ "$(field source)" = model ]
call 200 "/predictions/$(field prediction_id)"
call 422 /predict '{"dag_id": "", "task_id": "t", "requested": {"memory": "1Gi"}}'
call 400 /predict '{"dag_id": '

echo "=== a second server, and a kill"
run 1 serve --addr 127.0.0.1:0 --admin-addr "" --data "$work/data"
said "where the first one runs" "serves at ${url#http://}"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start "$work/data"
check "ready after the kill" ready
call 200 /tasks/pricing/predict_demand
check "nothing that was acknowledged is lost" [ "$(field observations)" = 152 ]
call 200 /observe "$report"
check "nothing is counted twice" [ "$(field duplicate)" = true ]
check "it answers as before" by_model "{${try/e2e/e2e-3}, $features, $requested}"

echo "=== an end in good order"
kill -TERM "$pid"
code=0
wait "$pid" || code=$?
check "exit code after SIGTERM" [ "$code" -eq 0 ]
run 0 migrate status --data "$work/data"
said "the tables are whole" "up to date"
