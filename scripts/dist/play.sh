#!/usr/bin/env bash
# Installs and uses what is in dist/ as users do, in a fresh folder. The checks, lock files and helm come from the
# repository.
#
#   programs   the archive of this machine serves the demo and gives the answers of the README
#   package    the wheel is installed beside Airflow 2.11 and 3, and the ProvidersManager of each lists it; a real Airflow runs a DAG
#              on a fake Kubernetes: the task gets a prediction, is OOM-killed, gets a lift and succeeds
#   chart      the chart passes lint, and all its containers run the digest of the image
#   image      the image passes `make check-image` (Linux; the user must be root)
#
# Prints every failed check, then "N passed, N failed".
#
#   go run ./internal/pglocal/pgtest/withpg bash scripts/dist/play.sh [folder; default dist] [programs package chart image]
set -Euo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
from=$(realpath "${1:-dist}")
shift || true
steps=${*:-programs package chart image}
UV=uv==0.13.9

work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-play.XXXXXX")
chmod 755 "$work" # if root runs this, PostgreSQL runs as another user
server="" passed=0 failed=0
finish() {
	[ -z "$server" ] || { kill -TERM "$server" && wait "$server"; } 2>/dev/null
	rm -rf "$work"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
trap 'finish; exit $?' EXIT
trap 'exit 130' INT TERM
check() { # DESCRIPTION COMMAND…
	local description=$1
	shift
	if "$@" >"$work/check" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $description" && tail -n 40 "$work/check"; fi
}

cp -R "$from" "$work/dist"
cd "$work" || exit 1
dsn=${LOADAWARE_TEST_DSN:-} # only the step image uses it
unset DATABASE_URL "${!LOADAWARE_@}" PYTHONPATH
check "the checksums are right" bash -c 'cd dist && if command -v sha256sum; then sha256sum -c SHA256SUMS; else shasum -a 256 -c SHA256SUMS; fi'
chart=$(echo dist/loadaware-[0-9]*.tgz)
version=${chart#dist/loadaware-} version=${version%.tgz}
platform=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')

unpacked=$work/loadaware-$version-$platform
check "the archive of $platform unpacks" tar -xzf "dist/loadaware-$version-$platform.tar.gz"
bin=$unpacked/loadaware

play_programs() {
	check "loadaware is version $version" bash -c "'$bin' version | grep -qF 'loadaware $version ('"
	check "--version prints the same as version" bash -c "[ \"\$('$bin' --version)\" = \"\$('$bin' version)\" ]"
	check "loadaware-peak has the same version" bash -c "[ \"\$('$unpacked/loadaware-peak' --version)\" = 'loadaware-peak $version' ]"
	check "licence, notices, README and changelog are there" ls "$unpacked"/{LICENSE,THIRD_PARTY_NOTICES,README.md,CHANGELOG.md}
	: >"$work/log"
	"$bin" serve --demo --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --data "$work/data" >"$work/log" 2>&1 &
	server=$!
	for _ in $(seq 600); do grep -q '^learned the demo history' "$work/log" && break; kill -0 "$server" || break; sleep 0.2; done
	url=$(sed -n 's/^loadaware serves at //p' "$work/log")
	admin=$(sed -n 's/^metrics are at //p' "$work/log")
	check "loadaware serves the demo" test -n "$url"
	check "the answers are those in the README" python3 "$repository/scripts/dist/story.py" "$unpacked/README.md" "${url#http://}"
	check "/readyz has the version" bash -c "curl -sSf '$url/readyz' | grep -qF '\"version\":\"$version\"'"
	check "the metrics have the version" bash -c "curl -sSf '$admin' | grep -qxF 'loadaware_build_info{version=\"$version\"} 1'"
	kill -TERM "$server" && wait "$server"
	check "exit code 0 after SIGTERM" test $? -eq 0
	server=""
}

play_package() {
	local airflow venv wheel
	wheel=$(echo dist/*.whl)
	cp -R "$repository/api/python/tests" "$work/tests"
	for airflow in 2.11 3; do
		venv=$work/airflow-$airflow
		python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check "$UV"
		check "Airflow $airflow is installed" "$venv/bin/uv" pip install -q --python "$venv/bin/python" -r "$repository/api/python/requirements/airflow-$airflow.txt"
		check "the wheel is installed without changes to other packages" "$venv/bin/uv" pip install -q --offline --python "$venv/bin/python" "$wheel"
		check "Python imports the provider from the wheel" "$venv/bin/python" -c "import airflow_provider_loadaware as p; assert '$venv' in p.__file__, p.__file__"
		check "Airflow $airflow accepts its provider information" "$venv/bin/python" -m pytest -q -p no:cacheprovider "$work/tests/unit/test_provider_info.py"
		check "Airflow $airflow runs a DAG whose task is predicted, killed, lifted and succeeds" env LOADAWARE_BIN="$bin" \
			"$venv/bin/python" -m pytest -q -p no:cacheprovider "$work/tests/airflow/test_prediction_cycle.py" -k 'lifted_until_it_succeeds and sized-work'
	done
}

play_chart() {
	local helm values
	helm=$(sh "$repository/scripts/deploy/helm/helm.sh" | tail -n 1)
	values=(--set image.repository=registry.example/loadaware --set secret.name=loadaware)
	tar -xf "dist/loadaware-image-$version.tar" index.json
	digest=$(grep -o 'sha256:[0-9a-f]*' index.json)
	check "the chart passes lint" "$helm" lint --strict "${values[@]}" "$chart"
	check "the chart renders" bash -c "'$helm' template prod '$chart' --kube-version 1.34.0 ${values[*]} >rendered.yaml"
	check "all containers run the digest of the image" test "$(grep -cF "image: \"registry.example/loadaware@$digest\"" rendered.yaml)" -eq "$(grep -c 'image:' rendered.yaml)"
	check "the objects of the chart have the version as a label" grep -qF "app.kubernetes.io/version: \"$version\"" rendered.yaml
}

play_image() {
	check "the image runs unprivileged on a read-only file system" env LOADAWARE_TEST_DSN="$dsn" IMAGE="$work/dist/loadaware-image-$version.tar" \
		PEAK_IMAGE="$work/dist/loadaware-peak-image-$version.tar" bash "$repository/scripts/check-image.sh"
	cat "$work/check"
}

for step in $steps; do
	echo "=== $step"
	"play_$step"
done
