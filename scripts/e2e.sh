#!/usr/bin/env bash
# Tests the built binary end to end: import, predictions, an OOM kill, a training, a crash and a
# shutdown. The script uses free ports of loopback and a temporary folder. It prints every failed check, then
# "N passed, N failed", and fails if any check failed.
#
#   make build && bash scripts/e2e.sh [path of the binary]
#
# The servers use LOADAWARE_MODEL_MEMORY from the environment, but no other LOADAWARE_ variable and no DATABASE_URL.
set -Euo pipefail
cd "$(dirname "$0")/.."

bin=$(realpath "${1:-bin/loadaware}")
demo=$(realpath testdata/demo/pricing.csv.gz)
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware e2e.XXXXXX") # with a space, because some home folders have one
chmod 755 "$work"                                         # if root runs this, PostgreSQL runs as another user
model_memory=${LOADAWARE_MODEL_MEMORY:-}
unset DATABASE_URL DATABASE_REPLICA_URL "${!LOADAWARE_@}"
[ -z "$model_memory" ] || export LOADAWARE_MODEL_MEMORY=$model_memory

passed=0 failed=0 servers=()

finish() {
	for pid in ${servers[@]+"${servers[@]}"}; do
		kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	sleep 1 # gives the private PostgreSQL time to end
	rm -rf "$work"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
trap 'finish; exit $?' EXIT
trap 'exit 130' INT TERM

# check DESCRIPTION COMMAND… passes if the command succeeds.
check() {
	local description=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $description: $*" >&2
	fi
}

# contains DESCRIPTION TEXT passes if the last answer or output contains the text.
contains() { check "$1" grep -qF -- "$2" "$work/out"; }

# bounded COMMAND… runs a command and ends it after 120 s. macOS has no program `timeout`.
bounded() {
	if command -v timeout >/dev/null; then timeout 120 "$@"; else perl -e 'alarm 120; exec @ARGV' "$@"; fi
}

# run EXPECTED_CODE ARGUMENTS… runs the binary for at most 120 s and stores its output.
run() {
	local want=$1 code=0
	shift
	bounded "$bin" "$@" >"$work/out" 2>&1 || code=$?
	check "exit code of loadaware $*" [ "$code" -eq "$want" ]
	[ "$code" -eq "$want" ] || cat "$work/out" >&2
}

# call STATUS PATH [BODY] sends a GET, or a POST with a body, and stores the answer.
call() {
	local want=$1 path=$2 code
	shift 2
	code=$(curl -sS -m 60 -o "$work/out" -w '%{http_code}' "$url$path" ${1:+-H 'Content-Type: application/json' -d "$1"})
	check "status of $path" [ "$code" = "$want" ]
	[ "$code" = "$want" ] || { cat "$work/out" >&2; echo >&2; }
}

# field NAME prints the first number, string or boolean of that name in the last answer.
field() {
	grep -oE "\"$1\": ?(\"[^\"]*\"|[0-9.eE+-]+|true|false)" "$work/out" | head -n 1 | sed -E 's/^"[^"]*": ?//; s/"//g'
}

# start FOLDER ARGUMENTS… starts a server and sets url and pid.
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
	echo "start the server: it ended or did not serve within 60 s; its log:" >&2
	cat "$log" >&2
	failed=$((failed + 1))
	exit 1
}

# ready waits until the server is ready.
ready() {
	for _ in $(seq 600); do
		curl -sf -m 5 -o /dev/null "$url/readyz" && return
		sleep 0.1
	done
	return 1
}

# by_model BODY requests predictions until a model answers. The first prediction after a start waits
# at most half a second for the model to be decoded, which may take longer on a busy machine.
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

echo "=== commands that must fail, help and version"
run 2
contains "usage without a command" "loadaware COMMAND --help"
run 2 sail
run 2 serve --prot 8080
run 2 serve --addr 0.0.0.0:0 --data "$work/unguarded"
contains "no public address without tokens" "loadaware token"
check "the rejected server leaves no files" [ ! -e "$work/unguarded" ]
run 1 import --url http://127.0.0.1:1 "$work/nowhere.csv"
run 1 import --data "$work/nothing" "$work/nowhere.csv"
run 1 migrate status --database postgres://127.0.0.1:1/none
run 0 --help
run 0 version
version=$(awk '{ print $2 }' "$work/out")

echo "=== serve and import"
start "$work/data"
check "the server is ready" ready
call 200 /readyz
check "the server reports the version of the program" [ "$(field version)" = "$version" ]
call 404 "/tasks/pricing/predict_demand"
call 200 /predict "{$try, $features, $requested}"
check "an unknown task gets its request unchanged" [ "$(field source) $(field request_bytes)" = "requested 375809638400" ]
run 0 import --url "$url" --dry-run "$demo"
contains "a dry run sends nothing" "nothing was sent"
run 0 import --url "$url" --train "$demo"
contains "all rows are new" "900 new, 0 already there, 0 amended, 0 rejected"
run 0 import --url "$url" "$demo"
contains "importing twice adds nothing" "0 new, 900 already there, 0 amended, 0 rejected"
printf 'dag_id,task_id,run_id,memory_max_bytes\netl,load,r1,1000000000\netl,load,r2,lots\n' >"$work/partly.csv"
run 3 import --url "$url" "$work/partly.csv"
contains "the invalid row is reported" "line 3: memory_max_bytes"
contains "the valid row is stored" "1 new"
call 200 /tasks/pricing/predict_demand
check "all runs of the task are counted" [ "$(field observations)" = 150 ]

echo "=== predict, OOM, lift, observe, retrain, predict"
call 200 /predict "{$try, $features, $requested}"
check "the task's own model answers" [ "$(field source)" = model ]
granted=$(field limit_bytes)
check "the limit is below the request" [ "$granted" -lt 375809638400 ]
call 200 /observe "{$try, \"outcome\": \"oom_killed\", \"allocated\": {\"memory_bytes\": $granted}, $features}"
check "the OOM kill is recorded" [ "$(field recorded) $(field duplicate)" = "true false" ]
call 200 /retry-lift "{$try, \"reason\": \"oom_killed\", \"failed\": {\"memory_bytes\": $granted}, $features, $requested}"
check "the retry gets a lift" [ "$(field verdict)" = lift ]
lifted=$(field limit_bytes)
check "the lift is above the failed limit" [ "${lifted:-0}" -gt "$granted" ]
call 200 /predict "{$try, \"try_number\": 2, $features, $requested}"
check "the next try gets the lifted limit" [ "$(field source) $(field limit_bytes)" = "lift $lifted" ]
peak=$((granted + (lifted - granted) / 2))
report="{$try, \"try_number\": 2, \"outcome\": \"success\", \"memory_max_bytes\": $peak, \"duration_seconds\": 400, \"allocated\": {\"memory_bytes\": $lifted}, $features}"
call 200 /observe "$report"
check "the report is new" [ "$(field duplicate)" = false ]
call 200 /observe "$report"
check "the repeated report is a duplicate" [ "$(field duplicate)" = true ]
call 409 /observe "${report/success/failed}"
call 200 /tasks/pricing/predict_demand/train '{}'
check "the task is retrained" [ "$(field trained)" = true ]
call 200 /predict "{${try/e2e/e2e-2}, $features, $requested}"
check "a later run gets no lift" [ "$(field source)" = model ]
call 200 "/predictions/$(field prediction_id)"
call 422 /predict '{"dag_id": "", "task_id": "t", "requested": {"memory": "1Gi"}}'
call 400 /predict '{"dag_id": '

echo "=== a second server on the same data, and a crash of the first"
run 1 serve --addr 127.0.0.1:0 --admin-addr "" --data "$work/data"
contains "the error names the address of the first server" "serves at ${url#http://}"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start "$work/data"
check "the server is ready after the kill" ready
call 200 /tasks/pricing/predict_demand
check "no acknowledged report is lost" [ "$(field observations)" = 152 ]
call 200 /observe "$report"
check "no report is counted twice" [ "$(field duplicate)" = true ]
check "a model answers again" by_model "{${try/e2e/e2e-3}, $features, $requested}"

echo "=== graceful shutdown"
kill -TERM "$pid"
code=0
wait "$pid" || code=$?
check "the exit code after SIGTERM is 0" [ "$code" -eq 0 ]
run 0 migrate status --data "$work/data"
contains "all migrations are applied" "up to date"
