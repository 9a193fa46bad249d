#!/usr/bin/env bash
# Checks that pandas and DuckDB read what evalctl show writes as --csv and --jsonl: the columns, the
# types and every text, of answers that look like formulas and like rows.
#
# It needs Go and Python 3 with venv. The packages are installed into a cache folder.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/evalctl/tables-check
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
begin "the packages from PyPI"
venv=$cache/$(cat requirements.txt <(python3 --version) | cksum | tr ' ' -)
if [ ! -e "$venv/installed" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  installing 420 "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: --requirement requirements.txt
  touch "$venv/installed"
fi
begin "go build ./cmd/evalctl"
(cd ../.. && go build -o "$temp/evalctl" ./cmd/evalctl)
begin "a run, and its tables"
cp scorer.sh "$temp"
"$venv/bin/python" check.py write "$temp/q.jsonl"
cd "$temp"
./evalctl run --sdk go --dataset q.jsonl --corpus q.corpus --scorer 'cmd:sh scorer.sh' --floor 0 --quiet --output out >summary
result=$(sed -n 's/.* -> //p' summary)
./evalctl show "$result" --csv q.csv --jsonl rows.jsonl
./evalctl dataset check --schema table >table.schema.json
begin "pandas and DuckDB"
"$venv/bin/python" "$OLDPWD/check.py" read "$result" q.csv rows.jsonl table.schema.json
