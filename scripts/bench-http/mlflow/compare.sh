#!/usr/bin/env bash
# Row 16, once: wrk against MLflow's own scoring server, and against ours in the same
# run. See serve.py for what the model is. Packages go into a venv of their own.
#
#   bash scripts/bench-http/mlflow/compare.sh [folder for the venv]
set -euo pipefail
cd "$(dirname "$0")/../../.."

venv=${1:-.cache/mlflow}
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-mlflow.XXXXXX")
if [ ! -x "$venv/bin/mlflow" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check mlflow==3.17.2 scikit-learn==1.9.1
fi
export PATH="$PWD/$venv/bin:$venv/bin:$PATH" MLFLOW_TRACKING_URI="file:$work/runs"
"$venv/bin/python" scripts/bench-http/mlflow/serve.py "$work" >/dev/null
port=$((20000 + $$ % 20000))
taskset -c 1 "$venv/bin/mlflow" models serve -m "$work/model" -p $port --env-manager local >"$work/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 1 240); do curl -sf "http://127.0.0.1:$port/ping" >/dev/null && break; sleep 0.5; done
cat >"$work/load.lua" <<'LUA'
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
wrk.body = io.open(os.getenv("PAYLOAD")):read("a")
LUA
echo "MLflow $("$venv/bin/mlflow" --version | sed 's/.* //'), its scoring server on one core, 16 connections:"
for _ in 1 2 3; do
	PAYLOAD=$work/payload.json taskset -c 0 wrk -t1 -c16 -d5s --timeout 20s --latency -s "$work/load.lua" "http://127.0.0.1:$port/invocations" |
		grep -E 'Requests/sec|99%|Non-2xx' || { cat "$work/log"; exit 1; }
done
echo 'ours:'
bin/bench-http -bin "${SERVER:-bin/loadaware}" -form short -rows 1
