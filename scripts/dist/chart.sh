#!/bin/sh
# Copies the Helm chart and writes the version of a release and the digest of its image into the copy. The tests of the
# chart (make deploy-test) lint and render such a copy; make dist-play does so with the released chart.
#
#   sh scripts/dist/chart.sh VERSION DIGEST FOLDER      FOLDER must not exist
set -eu
cd "$(dirname "$0")/../.."
version=$1 digest=$2 folder=$3
cp -R scripts/deploy/chart "$folder"
sed -i.old -e "s/^version: .*/version: $version/; s/^appVersion: .*/appVersion: \"$version\"/; /^# A clone has/d" "$folder/Chart.yaml"
sed -i.old -e "s/^  tag: \"\".*/  tag: $digest # image $version/" "$folder/values.yaml"
rm "$folder/Chart.yaml.old" "$folder/values.yaml.old"
for line in "version: $version" "appVersion: \"$version\""; do
	grep -qxF "$line" "$folder/Chart.yaml" || {
		echo "write the version into the chart: Chart.yaml has no line '$line'; adapt scripts/dist/chart.sh to the file" >&2
		exit 1
	}
done
grep -qxF "  tag: $digest # image $version" "$folder/values.yaml" || {
	echo 'write the digest into the chart: values.yaml has no empty image.tag; adapt scripts/dist/chart.sh to the file' >&2
	exit 1
}
