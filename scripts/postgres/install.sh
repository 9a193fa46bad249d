#!/usr/bin/env bash
# Installs the PostgreSQL server that tests start, unless it is there: from Debian's packages, as
# root or with a sudo that needs no password.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh

installed() {
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}
installed && exit
if ! command -v apt-get >/dev/null; then
  echo "postgres: install a PostgreSQL server, version 15 or newer, with initdb and pg_ctl in PATH" >&2
  exit 1
fi
begin 2200 "PostgreSQL from Debian's packages"
log=$(mktemp)
trap 'unguard "$part"; rm -f "$log"' EXIT

debian postgresql >"$log" 2>&1 || tail -20 "$log" >&2
if ! installed; then
  echo "postgres: apt-get could not install the package postgresql: install it, then try again" >&2
  exit 1
fi
