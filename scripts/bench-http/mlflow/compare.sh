#!/usr/bin/env bash
# Measures row 16 of bench-http (bench.table in main.go): wrk sends requests to the scoring server of MLflow and to
# loadaware in turn. serve.py describes the model. The Python packages go into a separate venv.
#
#   bash scripts/bench-http/mlflow/compare.sh [folder for the venv]
set -euo pipefail -m # a process group per job, so that the kill reaches the workers of MLflow
cd "$(dirname "$0")/../../.."

venv=${1:-$PWD/.cache/mlflow}
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-mlflow.XXXXXX")
server=
trap '[ -z "$server" ] || { kill -- -$server; wait $server; } 2>/dev/null || true; rm -rf "$work"' EXIT
if [ ! -x "$venv/bin/mlflow" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check mlflow==3.17.2 scikit-learn==1.9.1
fi
sh scripts/bench-http/setup.sh
go build -trimpath -o bin/bench-http ./scripts/bench-http

export PATH="$venv/bin:$PATH" MLFLOW_TRACKING_URI="file:$work/runs"
python scripts/bench-http/mlflow/serve.py "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
port=$((20000 + $$ % 20000))
core=$([ "$(nproc)" -lt 2 ] || echo "taskset -c 1")
$core mlflow models serve -m "$work/model" -p $port --env-manager local >"$work/log" 2>&1 &
server=$!
up() { curl -sf "http://127.0.0.1:$port/ping" >/dev/null; }
for _ in $(seq 1 240); do up && break; sleep 0.5; done
up || { cat "$work/log" >&2; echo "start MLflow: its server did not answer within two minutes" >&2; exit 1; }
echo "MLflow $(mlflow --version | sed 's/.* //'): scoring server with one worker on one core"
bin/bench-http -bin "${SERVER:-bin/loadaware}" -rows 16 -other "http://127.0.0.1:$port/invocations" -other-body "$work/payload.json"
