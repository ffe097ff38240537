#!/bin/sh
# Checks with mypy that a program outside the repository sees the types of the wheel (py.typed).
#
#   sh scripts/dist/check-types.sh WHEEL PYTHON      PYTHON has venv and mypy
set -eu
cd "$(dirname "$0")/../.."
wheel=$(realpath "$1") python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-types.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check -c api/python/requirements/client.txt "$wheel"
cat >"$work/right.py" <<'PYTHON'
from airflow_provider_loadaware import get_provider_info
from loadaware_client import Client
from loadaware_client.api.ask import predict
from loadaware_client.models.predict_request import PredictRequest

ask = PredictRequest.from_dict({"dag_id": "d", "task_id": "t"})
answer = predict.sync(client=Client(base_url="http://127.0.0.1:8080"), body=ask)
reveal_type(answer)
reveal_type(get_provider_info())
PYTHON
printf '%s\n' 'from loadaware_client import Client' 'Client(base_url=8080)' >"$work/wrong.py"
cd "$work"
run() { "$python" -m mypy --strict --no-incremental --python-executable venv/bin/python "$1"; }
types=$(run right.py) || { echo "$types"; echo 'check the types of the wheel: mypy reports errors in a correct program' >&2; exit 1; }
echo "$types" | grep -q 'Revealed type is "loadaware_client\.models\.prediction\.Prediction | ' ||
	{ echo "$types"; echo 'check the types of the wheel: the answer of predict has no type' >&2; exit 1; }
if run wrong.py >/dev/null; then
	echo 'check the types of the wheel: mypy accepts a number as base_url' >&2
	exit 1
fi
echo 'mypy reads the types of the wheel'
