#!/usr/bin/env bash
# Builds into dist/ what users install, from the working tree and without a container engine:
#
#   loadaware-VERSION-OS-ARCH.tar.gz        static programs with licences and docs
#   loadaware-image-VERSION.tar             OCI image layout of the service, for docker load, skopeo, crane, ctr
#   loadaware-peak-image-VERSION.tar        OCI image layout of loadaware-peak
#   loadaware-VERSION.tgz                   Helm chart; its value image.tag is the digest of the service's image
#   airflow_provider_loadaware-….whl, .tar.gz   Airflow provider and Python client
#   *.cdx.json                              lists of components (CycloneDX); not in the short form
#   SHA256SUMS
#
# The same commit, Go version and lock files give the same bytes: every timestamp is the time of the commit. This script
# publishes nothing. It does not lint the chart; make dist-play does. The short form builds only for Linux on this machine's
# architecture, and lists no components.
#
#   bash scripts/dist/dist.sh [short] [folder to write; default dist]
#   bash scripts/dist/dist.sh licences [folder to read]     writes docs/licences.md from the lists of components
set -Eeuo pipefail
cd "$(dirname "$0")/../.."

form=long
case ${1:-} in short | licences) form=$1 && shift ;; esac
out=${1:-dist}
platforms='linux/amd64 linux/arm64 darwin/amd64 darwin/arm64'
[ "$form" = long ] || platforms=linux/$(go env GOARCH)

version=$(sh scripts/dist/version.sh)
python_version=$(sh scripts/dist/version.sh python)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH=$(sh scripts/dist/version.sh epoch)
source=https://github.com/loadaware/loadaware
export SOURCE_DATE_EPOCH CGO_ENABLED=0 PYTHONDONTWRITEBYTECODE=1
export GOGC=400 # saves CPU time of the compilers; they run for seconds, so their memory does not matter
umask 022

work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-dist.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
if [ "$form" = licences ]; then
	"${PYTHON:-python3}" scripts/dist/licences.py "$out"/*.cdx.json >"$work/licences.md"
	cp "$work/licences.md" docs/licences.md
	exit
fi
rm -rf "$out"
mkdir -p "$out"

# environment NAME installs the packages of api/python/requirements/NAME.txt into .cache/NAME and prints the folder of their
# programs.
environment() {
	local lock=api/python/requirements/$1.txt venv=$PWD/.cache/$1
	if ! cmp -s "$lock" "$venv/installed.txt"; then
		# $(environment …) does not inherit set -e.
		"${PYTHON:-python3}" -m venv --clear "$venv" &&
			"$venv/bin/pip" install -q --disable-pip-version-check -r "$lock" &&
			cp "$lock" "$venv/installed.txt" || return
	fi
	echo "$venv/bin"
}

# finish PID FUNCTION waits for a function in the background, and then prints its output.
finish() {
	local code=0
	wait "$1" || code=$?
	cat "$work/$2.log"
	[ "$code" -eq 0 ] || { echo "dist: $2 failed" >&2; return "$code"; }
}

# programs GOOS GOARCH FOLDER builds both programs, without the VCS data of Go, which depends on files outside the commit.
programs() {
	GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false \
		$(cat scripts/dist/compact.flags) -ldflags "-s -w -funcalign=16 -X main.buildVersion=$version -X main.buildRevision=$revision" -o "$3/" ./cmd/loadaware ./cmd/loadaware-peak
}

build_programs() {
	local platform
	go build -C scripts/dist/pack -o "$work/pack" .
	for platform in $platforms; do
		mkdir "$work/loadaware-$version-${platform/\//-}"
		programs "${platform%/*}" "${platform#*/}" "$work/loadaware-$version-${platform/\//-}"
	done
	"$work/pack" notices "$work"/loadaware-"$version"-*/loadaware* >"$work/THIRD_PARTY_NOTICES"
}

# check_versions runs the programs for this machine, if there are any, and compares their versions.
check_versions() {
	local folder
	folder=$work/loadaware-$version-$(go env GOHOSTOS)-$(go env GOHOSTARCH)
	[ -d "$folder" ] || return 0
	[[ "$("$folder/loadaware" version)" == "loadaware $version ($revision, "* && "$("$folder/loadaware-peak" --version)" == "loadaware-peak $version" ]] ||
		{ echo "check versions: the programs are not version $version of $revision: $("$folder/loadaware" version), $("$folder/loadaware-peak" --version)" >&2; return 1; }
}

# check_licences fails if docs/licences.md lacks a module or package, or lists an incompatible licence for it. In the long
# form list_components also compares the page with the licences found.
check_licences() {
	local names
	names=$("$work/pack" modules "$work"/loadaware-"$version"-*/loadaware* && sed 's/==.*//' api/python/requirements/client.txt)
	# shellcheck disable=SC2086 # one argument for each name
	"${PYTHON:-python3}" scripts/dist/licences.py --listed docs/licences.md $names
}

build_archives() {
	local folder
	for folder in "$work"/loadaware-"$version"-*; do
		cp LICENSE README.md CHANGELOG.md "$work/THIRD_PARTY_NOTICES" "$folder"
		cp -R docs "$folder"
		"$work/pack" archive "$out/${folder##*/}.tar.gz" "$folder"
	done
}

# image NAME DESCRIPTION FLAG… writes the image of a program and prints its digest.
image() {
	local name=$1 description=$2 file platform programs=()
	shift 2
	file=$out/$name-image-$version.tar
	for platform in $platforms; do
		case $platform in linux/*) programs+=("$platform=$work/loadaware-$version-${platform/\//-}/$name") ;; esac
	done
	"$work/pack" image -title "$name" -description "$description" -version "$version" -revision "$revision" -source "$source" \
		-documents "$work/documents" "$@" "$file" "${programs[@]}"
}

build_images() {
	mkdir "$work/documents"
	cp LICENSE "$work/documents"
	gzip -9n <"$work/THIRD_PARTY_NOTICES" >"$work/documents/THIRD_PARTY_NOTICES.gz" # an image has at most 30 MB
	digest=$(image loadaware 'Predicts, before the launch of an Airflow task, how much memory and CPU it needs' -service)
	image loadaware-peak 'Measures the peak memory of a program in its container' >/dev/null
}

build_python() {
	local tools
	tools=$(environment dist)
	"$tools/python" -m unittest discover -q -s scripts/dist
	rm -rf "$work/python" && mkdir "$work/python"
	PATH=$tools:$PATH "$tools/python" -m build --no-isolation --outdir "$work/python" api/python >"$work/build.log" 2>&1 ||
		{ cat "$work/build.log" >&2; return 1; } # the wheel is built from the source distribution
	NO_COLOR=1 "$tools/twine" check --strict "$work"/python/*
	"$tools/check-wheel-contents" --config api/python/pyproject.toml "$work"/python/*.whl
	"$tools/python" scripts/dist/metadata.py "$python_version" "$work"/python/*.whl "$work"/python/*.tar.gz
	cp "$work"/python/* "$out"
	sh scripts/dist/check-types.sh "$out"/*.whl "$tools/python"
}

build_chart() {
	mkdir "$work/chart"
	sh scripts/dist/chart.sh "$version" "$digest" "$work/chart/loadaware"
	"$work/pack" archive "$out/loadaware-$version.tgz" "$work/chart/loadaware"
}

# program_components FILE writes the list of the components of a program.
program_components() {
	local name=${1%/*} list
	name=${1##*/}-${name##*/loadaware-}
	list=$work/components/$name.json
	SYFT_CHECK_FOR_APP_UPDATE=false SYFT_GOLANG_SEARCH_LOCAL_MOD_CACHE_LICENSES=true .cache/sbom/bin/syft scan "file:$1" -q \
		--source-name "${1##*/}" --source-version "$version" -o "cyclonedx-json=$list"
	.cache/sbom/bin/python scripts/dist/components.py "$list" >"$out/$name.cdx.json"
}

package_components() {
	.cache/sbom/bin/python -m venv --without-pip "$work/client"
	.cache/sbom/bin/pip --python "$work/client/bin/python" install -q --disable-pip-version-check -r api/python/requirements/client.txt
	.cache/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject api/python/pyproject.toml \
		-o "$work/components/package.json" "$work/client/bin/python"
	.cache/sbom/bin/python scripts/dist/components.py --version "$python_version" "$work/components/package.json" \
		>"$out/airflow_provider_loadaware-$python_version.cdx.json"
}

list_components() {
	local file
	environment sbom >/dev/null
	mkdir "$work/components"
	for file in "$work"/loadaware-"$version"-*/loadaware "$work"/loadaware-"$version"-*/loadaware-peak; do
		program_components "$file"
	done
	package_components
	.cache/sbom/bin/python scripts/dist/licences.py "$out"/*.cdx.json >"$work/licences.md"
	diff docs/licences.md "$work/licences.md" || { echo 'docs/licences.md is stale: run make licences' >&2; return 1; }
}

# The Python package does not need the programs, and the component lists need only the programs. Both are made in the
# background, on a second core, because the linker and the compression use only one.
build_python >"$work/build_python.log" 2>&1 &
python_job=$!
build_programs
components_job=
if [ "$form" = long ]; then
	list_components >"$work/list_components.log" 2>&1 &
	components_job=$!
fi
check_versions
check_licences
build_images
build_chart
build_archives
finish "$python_job" build_python
[ -z "$components_job" ] || finish "$components_job" list_components
"$work/pack" sums "$out" >"$work/SHA256SUMS"
cp "$work/SHA256SUMS" "$out"
echo "$out has version $version, image $digest"
