#!/usr/bin/env bash
# Installs the proxy that a test starts, nginx, unless it is there: from Debian's packages, as root or
# with a sudo that needs no password.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh

installed() { PATH=$PATH:/usr/sbin command -v nginx >/dev/null; }
installed && exit
if ! command -v apt-get >/dev/null; then
  echo "nginx: install nginx, with the program in PATH or /usr/sbin" >&2
  exit 1
fi
begin "nginx from Debian's packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
debian nginx-light >"$log" 2>&1 || tail -20 "$log" >&2
if ! installed; then
  echo "nginx: apt-get could not install the package nginx-light: install it, then try again" >&2
  exit 1
fi
