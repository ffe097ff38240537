#!/bin/sh
# Prints the version of the working tree. A release is a commit with a tag such as v1.2.3. While
# scripts/dist/version.txt names 1.2.3 as the next release, the version is:
#
#   1.2.3                                    the commit is tagged v1.2.3, and no tracked file differs from it
#   1.2.3-dev.20310131120000.g0123456789ab   otherwise, with the UTC time and the hash of the commit
#   1.2.3-dev                                without git
#
# The second form ends in ".dirty" if tracked files differ from the commit.
#
#   sh scripts/dist/version.sh            for programs, the chart and images (semver.org)
#   sh scripts/dist/version.sh python     for the Python package (PEP 440)
#   sh scripts/dist/version.sh epoch      the time of the commit, for SOURCE_DATE_EPOCH; without git, the current time
set -eu
cd "$(dirname "$0")/../.."

next=$(cat scripts/dist/version.txt)

# in_git runs git if this folder is the root of a clone. A copy of the sources inside another clone is not such a root.
in_git() {
	[ -e .git ] && git "$@" 2>/dev/null
}

semantic() {
	commit=$(in_git rev-parse --short=12 HEAD) || {
		echo "$next-dev"
		return
	}
	dirty=
	in_git diff --quiet HEAD -- || dirty=.dirty
	tag=$(in_git describe --tags --exact-match --match 'v[0-9]*' HEAD) || tag=
	if [ -n "$tag" ] && [ -z "$dirty" ]; then
		[ "${tag#v}" = "$next" ] || {
			echo "version: the tag is $tag and scripts/dist/version.txt says $next; write the version of the tag into the file, commit it, and move the tag to the new commit" >&2
			return 1
		}
		echo "$next"
		return
	fi
	echo "$next-dev.$(TZ=UTC0 in_git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd).g$commit$dirty"
}

version=$(semantic)
case ${1:-} in
'') echo "$version" ;;
python)
	echo "$version" | sed -E 's/-rc\.?([0-9]+)/rc\1/; s/-dev\.([0-9]+)\.g[0-9a-f]+/.dev\1/; s/-dev$/.dev0/; s/\.dirty$/+dirty/'
	;;
epoch) in_git log -1 --format=%ct || date +%s ;;
*)
	echo "version: unknown form $1; use python, epoch or no argument" >&2
	exit 2
	;;
esac
