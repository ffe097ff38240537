#!/usr/bin/env bash
# Runs the provider's own tests, and the provider with real Airflow, once for each lock
# file of api/python/requirements: scheduler, triggerer, Airflow's own
# KubernetesPodOperator against a fake Kubernetes, and the real server. What is installed is kept in .cache until a lock file or python3 changes.
#
#   make build && bash scripts/test-airflow.sh [2.11|3] [arguments of pytest]
set -Eeuo pipefail
cd "$(dirname "$0")/.."

UV=uv==0.13.9
versions=(2.11 3)
case ${1:-} in 2.11 | 3)
	versions=("$1")
	shift
	;;
esac

python=${PYTHON:-python3}
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || {
	echo "test-airflow needs Python 3.10 or newer with its venv module; PYTHON=/path/of/python3 names another" >&2
	exit 1
}

# prepare VERSION makes the virtual environment of a lock file, with the provider as it is now.
prepare() {
	local lock=api/python/requirements/airflow-$1.txt venv=.cache/airflow-$1 made
	made="$("$python" -VV) $UV $(cksum <"$lock")"
	if [ "$made" != "$(cat "$venv/made" 2>/dev/null)" ]; then
		echo "installing Airflow $1"
		"$python" -m venv --clear "$venv"
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$UV"
		"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -r "$lock"
		echo "$made" >"$venv/made"
	fi
	"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --reinstall ./api/python
}

for version in "${versions[@]}"; do
	prepare "$version"
	echo "=== Airflow $version"
	for tests in unit server airflow; do
		".cache/airflow-$version/bin/python" -m pytest -q -p no:cacheprovider "api/python/tests/$tests" "$@"
	done
done
