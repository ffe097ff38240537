#!/bin/sh
# Checks the dashboard, the alert rules and the Helm chart:
#
#   alerts      checked and tested with promtool
#   dashboard   every query runs against a real Prometheus that scrapes two replicas
#   chart       rendered with helm, decoded strictly, checked against the schemas of Kubernetes
#               with kubeconform, and unit-tested
#
# Prometheus comes from PATH, or from the package of Debian, unpacked into .cache. helm,
# kubeconform and the schemas come from the Go proxy.
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
PROMETHEUS="$bin/prometheus" go test -count=1 -v ./scripts/deploy/
cd scripts/deploy/test && go test -count=1 -v ./...
