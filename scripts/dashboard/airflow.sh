#!/usr/bin/env bash
# Looks at the dashboard in the pages of a real Airflow: the tab of Airflow 3 and the link of Airflow 2.11. Pictures go
# into a folder if one is named.
#
#   make build && bash scripts/dashboard/airflow.sh [FOLDER OF THE PICTURES]
set -Eeuo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/dashboard/browser.sh
. scripts/dashboard/browser.sh
bash scripts/test-airflow.sh prepare
for version in 2.11 3; do # one after the other, because each needs 1 GB of memory
	"$tools/bin/python" scripts/dashboard/airflow.py "$CHROMIUM" ".cache/airflow-$version/bin/python" "$@"
done
