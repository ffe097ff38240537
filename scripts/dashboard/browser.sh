# Finds Chromium and installs Playwright for Python into .cache. Source this file in the root of the repository. It
# sets the variable CHROMIUM to the path of the program, and tools to the folder of the virtual environment.
# shellcheck shell=bash

CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || {
	echo "find Chromium: not installed; install the package chromium, or set CHROMIUM to its path" >&2
	exit 1
}
tools=.cache/dashboard
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check playwright==1.65.2
