#!/usr/bin/env bash
# Runs the provider's tests: unit tests, tests against the real server, and tests with a real Airflow (scheduler,
# triggerer, KubernetesPodOperator), a fake Kubernetes and the real server. The tests of the two Airflow versions run
# concurrently, because they mostly wait. A virtual environment stays in .cache until its lock file in
# api/python/requirements, python3 or the version of uv changes.
#
#   make build && bash scripts/test-airflow.sh [2.11|3] [arguments of pytest]
#   bash scripts/test-airflow.sh prepare    only makes the virtual environments and installs the provider
#   make build && bash scripts/test-airflow.sh 2.11|3 campaign [--runs 380] [--kills 20] [--seed 1] [--minutes LIMIT]
#
# The last form reproduces the runs of a campaign while the service, PostgreSQL and Airflow's scheduler are killed, each
# --kills times.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

# Many Python processes start. Without stored bytecode, each of them compiles all that it imports of Airflow, which takes
# twice as long as the rest of its start. Some environments, such as containers, forbid bytecode files.
unset PYTHONDONTWRITEBYTECODE

UV=uv==0.13.9
versions=(2.11 3)
case ${1:-} in 2.11 | 3)
	versions=("$1")
	shift
	;;
esac

python=${PYTHON:-python3}
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || {
	echo "find Python 3.10 or newer with the module venv: $python has no venv or is too old; install it or set PYTHON to its path" >&2
	exit 1
}

# prepare VERSION creates the virtual environment of a lock file and installs the provider from the working tree.
prepare() {
	local lock=api/python/requirements/airflow-$1.txt venv=.cache/airflow-$1 installed
	installed="$("$python" -VV) $UV $(cksum <"$lock")"
	if [ "$installed" != "$(cat "$venv/made" 2>/dev/null)" ]; then
		echo "installing Airflow $1"
		"$python" -m venv --clear "$venv"
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$UV"
		"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -r "$lock"
		echo "$installed" >"$venv/made"
	fi
	"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --reinstall ./api/python
	"$venv/bin/python" - "$venv/one-authority.pem" <<-'END'
		import sys, certifi
		end = "-----END CERTIFICATE-----\n"
		open(sys.argv[1], "w").write(certifi.contents().partition(end)[0] + end)
	END
}

# trust_one_authority VERSION lets Python read one certificate instead of about 150 for each TLS context. HTTP clients
# make such a context for every try and every poll, although all servers of the tests speak plain HTTP.
trust_one_authority() {
	export SSL_CERT_FILE=$PWD/.cache/airflow-$1/one-authority.pem
}

# run_tests VERSION [arguments of pytest] runs all tests with one version of Airflow.
run_tests() {
	local version=$1 tests
	shift
	echo "=== Airflow $version"
	trust_one_authority "$version"
	for tests in unit server airflow; do
		".cache/airflow-$version/bin/python" -m pytest -q -p no:cacheprovider --maxfail 3 "api/python/tests/$tests" "$@" || return
	done
}

for version in "${versions[@]}"; do # not concurrently, because each build of the provider writes into api/python
	prepare "$version"
done
[ "${1:-}" != prepare ] || exit 0
if [ "${1:-}" = campaign ]; then
	shift
	python=$PWD/.cache/airflow-${versions[0]}/bin/python
	trust_one_authority "${versions[0]}"
	cd api/python/tests/airflow
	exec "$python" -m trial "$@"
fi
if [ ${#versions[@]} -eq 1 ]; then
	run_tests "${versions[0]}" "$@"
	exit
fi

logs=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-airflow-logs.XXXXXX")
pids=()
set -m # a process group for each job, so that an interrupt also ends pytest
trap 'for pid in $(jobs -p); do kill -- "-$pid" 2>/dev/null || true; done; wait; rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
for version in "${versions[@]}"; do
	run_tests "$version" "$@" >"$logs/$version" 2>&1 &
	pids+=($!)
done
failed=()
for i in "${!versions[@]}"; do
	if wait "${pids[$i]}"; then cat "$logs/${versions[$i]}"; else failed+=("${versions[$i]}"); fi
done
for version in ${failed[@]+"${failed[@]}"}; do # last, because CI systems often show only the end of a log
	cat "$logs/$version"
	echo "FAILED with Airflow $version"
done
[ ${#failed[@]} -eq 0 ]
