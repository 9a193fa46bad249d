#!/usr/bin/env bash
# Installs the PostgreSQL server that tests start, unless it is there: from Debian's packages, as
# root or with a sudo that needs no password.
set -euo pipefail

installed() {
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}
installed && exit
if ! command -v apt-get >/dev/null; then
  echo "postgres: install a PostgreSQL server, version 15 or newer, with initdb and pg_ctl in PATH" >&2
  exit 1
fi
root=()
[ "$(id -u)" = 0 ] || root=(sudo -n)
echo "installing PostgreSQL"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if ! { "${root[@]}" apt-get update && "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends postgresql; } >"$log" 2>&1; then
  tail -5 "$log" >&2
fi
if ! installed; then
  echo "postgres: apt-get could not install the package postgresql: install it, then try again" >&2
  exit 1
fi
