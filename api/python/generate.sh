#!/bin/sh
# Generates src/loadaware_client from openapi.yaml, with the generator and the formatter that
# requirements/generate.txt pins. GEN_VENV is their virtual environment (reused between runs;
# default .cache/generate), PYTHON the interpreter that creates it.
#
#   sh api/python/generate.sh [folder to write; default src/loadaware_client]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/src/loadaware_client}
venv=${GEN_VENV:-$here/../../.cache/generate}
pins=$here/requirements/generate.txt

if ! cmp -s "$pins" "$venv/installed.txt"; then
	mkdir -p "$(dirname "$venv")"
	${PYTHON:-python3} -m venv --clear "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$pins"
	cp "$pins" "$venv/installed.txt"
fi
# In this client, the properties that x-always-present lists are required, even if they may be null.
"$venv/bin/python" - "$here/../../openapi.yaml" "$venv/openapi.yaml" <<'PYTHON'
import sys
from ruamel.yaml import YAML

yaml = YAML()
with open(sys.argv[1]) as f:
    spec = yaml.load(f)
for schema in spec["components"]["schemas"].values():
    schema.get("required", []).extend(schema.get("x-always-present", []))
with open(sys.argv[2], "w") as f:
    yaml.dump(spec, f)
PYTHON
PATH=$venv/bin:$PATH openapi-python-client generate --meta none --overwrite \
	--path "$venv/openapi.yaml" --config "$here/generate.yaml" --output-path "$out" >"$venv/log" 2>&1 ||
	{ cat "$venv/log" >&2; exit 1; }
: >"$out/py.typed" # the generator writes it only together with a pyproject.toml
