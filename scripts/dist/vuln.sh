#!/bin/sh
# Searches the code that the programs call for known vulnerabilities with govulncheck. First it shows that govulncheck finds
# one: in a module that calls an old golang.org/x/text, with the small database of govulncheck's own tests.
#
#   sh scripts/dist/vuln.sh [address of the database; default https://vuln.go.dev]
#   sh scripts/dist/vuln.sh probe            only shows that govulncheck finds a vulnerability
set -eu
cd "$(dirname "$0")/../.."
module=golang.org/x/vuln
tag=v1.9.0
database=${1:-https://vuln.go.dev}

work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-vuln.XXXXXX")
trap 'rm -rf "$work"' EXIT
GOBIN=$work go install "$module/cmd/govulncheck@$tag"

# probe VERSION checks a module that calls this version of golang.org/x/text, and prints the exit code of govulncheck.
probe() {
	mkdir "$work/$1"
	cat >"$work/$1/main.go" <<-'GO'
		package main

		import "golang.org/x/text/language"

		func main() { _, _ = language.Parse("en") }
	GO
	code=0
	(
		cd "$work/$1"
		go mod init example.org/probe
		go get "golang.org/x/text@$1"
		"$work/govulncheck" -db "file://$entries" ./...
	) >"$work/$1.log" 2>&1 || code=$?
	echo "$code"
}
entries=$(go mod download -json "$module@$tag" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/cmd/govulncheck/testdata/common/vulndb-v1
old=$(probe v0.3.6) new=$(probe v0.3.8)
if [ "$old" -ne 3 ] || ! grep -q GO-2021-0113 "$work/v0.3.6.log" || [ "$new" -ne 0 ]; then
	cat "$work"/v0.3.?.log >&2
	echo "search for vulnerabilities: govulncheck $tag should find GO-2021-0113 in golang.org/x/text v0.3.6 (exit code 3, not $old) and nothing in v0.3.8 (0, not $new); see its output above, and change the tag or this check if govulncheck works differently now" >&2
	exit 1
fi
echo "govulncheck $tag finds GO-2021-0113 in golang.org/x/text v0.3.6, and nothing in v0.3.8"
[ "$database" != probe ] || exit 0

code=0
"$work/govulncheck" -db "$database" ./... || code=$?
case $code in
0) ;;
3) echo 'search for vulnerabilities: the programs call vulnerable code; update the modules listed above' >&2 ;;
*) echo "search for vulnerabilities: no result from the database $database; make vuln VULNDB=file:///folder uses a local copy in its format" >&2 ;;
esac
exit "$code"
