#!/bin/sh
# Generates src/loadaware_client from openapi.yaml and corrects its docstrings, with the generator
# and the formatter that requirements/generate.txt pins. GEN_VENV is their virtual environment
# (reused between runs; default .cache/generate), PYTHON the interpreter that creates it.
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
# In this client, the properties that x-always-present lists are required, even if they may be null. The generator reads the
# text of a parameter from its schema, so description and example of a parameter replace those of its schema.
"$venv/bin/python" - "$here/../../openapi.yaml" "$venv/openapi.yaml" <<'PYTHON'
import sys
from ruamel.yaml import YAML

yaml = YAML()
with open(sys.argv[1]) as f:
    spec = yaml.load(f)
for schema in spec["components"]["schemas"].values():
    schema.get("required", []).extend(schema.get("x-always-present", []))
parameters = list(spec["components"]["parameters"].values())
for path in spec["paths"].values():
    for operation in path.values():
        parameters += operation if isinstance(operation, list) else operation.get("parameters", [])
for parameter in parameters:
    if "schema" not in parameter:  # a reference to components/parameters
        continue
    texts = {key: parameter[key] for key in ("description", "example") if key in parameter}
    if "$ref" in parameter["schema"]:
        schema = spec["components"]["schemas"][parameter["schema"]["$ref"].rsplit("/", 1)[1]]
        if "enum" in schema:  # a copy would become a type of its own
            continue
        parameter["schema"] = dict(schema)
    parameter["schema"].update(texts)
with open(sys.argv[2], "w") as f:
    yaml.dump(spec, f)
PYTHON
PATH=$venv/bin:$PATH openapi-python-client generate --meta none --overwrite \
	--path "$venv/openapi.yaml" --config "$here/generate.yaml" --output-path "$out" >"$venv/log" 2>&1 ||
	{ cat "$venv/log" >&2; exit 1; }
: >"$out/py.typed" # the generator writes it only together with a pyproject.toml
# Corrects docstrings of the generator that are wrong or unclear for this client.
"$venv/bin/python" - "$out" <<'PYTHON'
import sys
from pathlib import Path

out = Path(sys.argv[1])
RAISES = "        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.\n"
NO_PARSER = "        errors.UnexpectedStatus: For every status code, if Client.raise_on_unexpected_status is True: this client does not parse YAML.\n"
TEXTS = {
    "api/**/*.py": {
        "If the request takes longer than Client.timeout.": "If the connection, one read or one write takes longer than the timeout of the client.",
    },
    "errors.py": {
        "Contains shared errors types that can be raised from API functions": "Errors that API functions raise",
        "Raised by api functions when the response status an undocumented status and Client.raise_on_unexpected_status is True": (
            "Raised by a function in api.service that does not parse the status code of an answer, if "
            "Client.raise_on_unexpected_status is True"
        ),
    },
    "client.py": {
        "A class for keeping track of data related to the API": "The address and the settings of a server, and the httpx clients that call it",
        "A Client which has been authenticated for use on secured endpoints": "A Client that sends a token with every request",
        "The maximum amount of a time a request can take. API functions will raise\n        httpx.TimeoutException if this is exceeded.": (
            "An httpx.Timeout: the longest time of the connection, of one read and of one write. API functions\n"
            "        raise httpx.TimeoutException if this is exceeded. By default there is no timeout."
        ),
        "Whether or not to raise an errors.UnexpectedStatus if the API returns a\n            status code that was not documented in the source OpenAPI document. Can also be provided as a keyword\n            argument to the constructor.": (
            "Whether a function that does not parse the status code of an answer raises\n"
            "            errors.UnexpectedStatus. Only functions in api.service do not parse every status code. Can also be\n"
            "            provided as a keyword argument to the constructor."
        ),
        "Get a new client matching this one with additional headers": "Return a copy of this client with additional headers; the httpx clients of this client get them, too",
        "Get a new client matching this one with additional cookies": "Return a copy of this client with additional cookies; the httpx clients of this client get them, too",
        "Get a new client matching this one with a new timeout configuration": "Return a copy of this client with another timeout; the httpx clients of this client get it, too",
        "Enter a context manager for self.client—you cannot enter twice (see httpx docs)": "Enter a context manager for internal httpx.Client—you cannot enter twice (see httpx docs)",
    },
}
for pattern, texts in TEXTS.items():
    files = list(out.glob(pattern))
    for old, new in texts.items():
        if not any(old in file.read_text() for file in files):
            sys.exit(f"correct the docstrings of the client: {pattern} does not contain {old!r}; adapt api/python/generate.sh")
        for file in files:
            file.write_text(file.read_text().replace(old, new))
for file in out.glob("api/*/*.py"):
    text = file.read_text()
    if "raise errors.UnexpectedStatus" not in text:  # every status code is parsed
        file.write_text(text.replace(RAISES, ""))
    elif file.parent.name != "service":
        sys.exit(f"correct the docstrings of the client: {file} raises UnexpectedStatus; adapt api/python/generate.sh")
    elif "response.status_code ==" not in text:
        file.write_text(text.replace(RAISES, NO_PARSER))
PYTHON
