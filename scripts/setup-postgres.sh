#!/bin/sh
# Checks that PostgreSQL 15 or newer is installed, and installs the package if that needs no password.
# The script starts no server: the service and the tests start private servers.
set -eu

oldest=15

# major FOLDER prints the major version of the PostgreSQL in a folder; it fails if there is none.
major() {
	[ -x "$1/initdb" ] && "$1/postgres" --version 2>/dev/null | sed -n 's/^[^0-9]*\([0-9]*\).*/\1/p'
}

# found succeeds if one of the folders that internal/pglocal searches has a suitable PostgreSQL.
found() {
	if [ -n "${PG_BINDIR:-}" ]; then
		set -- "$PG_BINDIR"
	else
		set -- "$(dirname "$(command -v postgres || echo /nowhere/postgres)")" \
			"$(pg_config --bindir 2>/dev/null || echo /nowhere)" \
			/usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
			/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
			/home/linuxbrew/.linuxbrew/opt/postgresql*/bin \
			/Applications/Postgres.app/Contents/Versions/[0-9]*/bin
	fi
	for dir in "$@"; do
		version=$(major "$dir") || continue
		[ "${version:-0}" -ge "$oldest" ] && return 0
	done
	return 1
}

give_up() {
	echo "find PostgreSQL $oldest or newer: $1." >&2
	echo "Install it (apt-get install postgresql, or brew install postgresql@17), name its folder in PG_BINDIR, or set DATABASE_URL for make run." >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_be_root() {
	[ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

# apt_install prints the output of apt-get only if it fails.
apt_install() {
	output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1) ||
		{ echo "$output" >&2; return 1; }
}

# apt_postgres installs PostgreSQL. Debian's package would create and start a cluster;
# create_main_cluster = false prevents that.
apt_postgres() {
	settings=/etc/postgresql-common/createcluster.d/loadaware.conf
	as_root mkdir -p "$(dirname "$settings")"
	echo 'create_main_cluster = false' | as_root tee "$settings" >/dev/null
	trap 'as_root rm -f "$settings"' EXIT
	as_root apt-get update -qq || true # an old package list may suffice; otherwise the next line fails
	apt_install postgresql
	if ! found; then # a distribution older than Debian 12 or Ubuntu 24.04
		echo "This system's PostgreSQL is too old: adding the packages of the PostgreSQL project (apt.postgresql.org)."
		apt_install postgresql-common ca-certificates
		as_root /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y >/dev/null
		apt_install postgresql-17
	fi
}

found && exit 0
[ -z "${PG_BINDIR:-}" ] || give_up "there is none in PG_BINDIR=$PG_BINDIR"
if command -v apt-get >/dev/null; then
	may_be_root || give_up "the installation needs root; run this script once with sudo"
	echo "Installing the package postgresql ..."
	apt_postgres
elif command -v brew >/dev/null; then
	echo "Installing postgresql@17 by Homebrew ..."
	brew install --quiet postgresql@17
else
	give_up "it is not installed, and neither apt-get nor brew is there to install it"
fi
found || give_up "the installed package does not contain it"
