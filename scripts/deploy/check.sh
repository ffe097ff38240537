#!/bin/sh
# Holds the dashboard, the alert rules and the Helm chart to what they promise:
#
#   the alerts      checked and tested by promtool
#   the dashboard   each query asked of a real Prometheus that watches two replicas
#   the chart       rendered by helm, its manifests read strictly as Kubernetes reads
#                   them, checked against its schemas by kubeconform, and unit-tested
#
# Prometheus is taken from PATH, or out of Debian's package into .cache, without
# installing it. helm, kubeconform and the schemas come through the Go proxy.
set -eu
cd "$(dirname "$0")/../.."

find_prometheus() {
	if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
		dirname "$(command -v prometheus)"
		return
	fi
	if ! [ -x .cache/prometheus/usr/bin/promtool ]; then
		command -v apt-get >/dev/null || {
			echo 'install Prometheus (prometheus and promtool in PATH), then run this again' >&2
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
PROMETHEUS="$bin/prometheus" go test -count=1 -v ./scripts/deploy/
cd scripts/deploy/test && go test -count=1 -v ./...
