#!/usr/bin/env bash
# Lints an OpenAPI description with Spectral and Redocly. Warnings fail, too.
#
#   bash scripts/clients/lint.sh [description; default openapi.yaml]
set -euo pipefail
spec=$(realpath "${1:-$(dirname "$0")/../../openapi.yaml}")
cd "$(dirname "$0")/../.."
. scripts/clients/node.sh
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

code=0
"$node/node_modules/.bin/spectral" lint --ruleset .spectral.yaml --fail-severity hint "$spec" || code=1
"$node/node_modules/.bin/redocly" lint --config redocly.yaml --extends recommended-strict --format stylish "$spec" || code=1
exit $code
