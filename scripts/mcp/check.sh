#!/usr/bin/env bash
# Checks evalctl with programs of others: the official TypeScript client and the MCP inspector list
# and call every tool over stdio and HTTP, and the official conformance suite checks the server and the
# client, in both eras of the protocol.
#
# It needs Go, Node and npm. The programs, and Node 22 if the installed one is older, are installed
# into a cache folder, in the versions of the lock files.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh
. ../npm.sh
temp=$(mktemp -d)
notes=${TMPDIR:-/tmp} # where the clients write the files that they have ingested
daemon=
finish() {
  local code=0
  [ -z "$daemon" ] || ends "$daemon" || code=1
  rm -rf "$temp"
  [ "$code" = 0 ] || exit 1
}
trap finish EXIT

# start starts a daemon and sets $url: start NAME [FLAG]...
start() {
  local out=$temp/$1.out
  log=$temp/$1.log
  : >"$out" # the daemon's process may not have made it when it is read first
  "$temp/evalctl" serve --addr 127.0.0.1:0 "${@:2}" >"$out" 2>"$log" &
  daemon=$!
  for _ in $(seq 600); do
    url=$(sed -n 's/^evalctl: listening on //p' "$out")
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  echo "$1 does not listen:" && cat "$log"
  return 1
}

# stop ends the daemon and waits for it.
stop() {
  local pid=$daemon
  daemon=
  ends "$pid" || { failed=1 && tail -200 "$log"; }
}

if [ "$(node -p 'process.versions.node.split(".")[0] >= 22')" != true ]; then
  install node
  bin=$(echo "$modules"/node-*/bin)
  if [ ! -x "$bin/node" ]; then # npm ignores that an optional package is missing
    rm -r "${modules%/*}"
    echo "FAIL: npm did not install Node 22 for this platform: install Node 22 or newer"
    exit 1
  fi
  PATH=$bin:$PATH
fi
install .
cp ./*.mjs "$temp" # Node looks for packages in the folders above a script
ln -s "$modules" "$temp/node_modules"
begin "go build ./cmd/evalctl"
(cd ../.. && go build -o "$temp/evalctl" ./cmd/evalctl)
export SVC_LLM_PROVIDER=fake
unset SVC_HOME SVC_TOKEN SVC_STORE SVC_MCP_DEFAULT_BRAIN SVC_EMBED_PROVIDER TOKEN
failed=0
client() { node "$temp/client.mjs" "$@" || failed=1; }
inspector() { node "$temp/inspector.mjs" "$@" || failed=1; }
# denied checks that the client of $url is denied: denied STATUS TOKEN
denied() {
  if TOKEN=$2 node "$temp/client.mjs" denied http "$url/mcp" >"$temp/denied" 2>&1 ||
    ! grep -q "code: $1" "$temp/denied"; then
    echo "FAIL: token \"$2\" does not lead to $1:" && cat "$temp/denied"
    failed=1
  fi
}
keys() { "$temp/evalctl" serve keys --file "$temp/keys.yaml" "$@"; }

begin "stdio, with daemons of its own"
PAGE=1 client own-fs stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --home "$temp/home-fs" --allow-private-fetch
client own-git stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --home "$temp/home-git" --store git
client own-memory stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --store memory
inspector inspected stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --home "$temp/home-fs"

begin "HTTP, and stdio to the same daemon"
start memory --allow-private-fetch
PAGE=1 client http-memory http "$url/mcp"
PAGE=1 client stdio-endpoint stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --endpoint "$url"
begin "the official conformance suite: the server at /mcp, and the client"
# The suite compares what fails with expected-failures.yml. It knows servers over HTTP only: clients
# above and below use the one on stdio.
conformance() {
  if node "$modules/@modelcontextprotocol/conformance/dist/index.js" "$@" \
    --expected-failures expected-failures.yml >"$temp/conformance.log" 2>&1; then
    echo "ok  conformance $1 $3: $(grep -c '^✓' "$temp/conformance.log") scenarios passed"
  else
    echo "FAIL conformance $1 $3:" && cat "$temp/conformance.log"
    failed=1
  fi
}
(cd ../.. && go build -o "$temp/drive" ./daemon/mcpclient/drive)
for revision in 2025-11-25 2026-07-28; do
  conformance server --requirements "$revision" --url "$url/mcp"
  conformance client --requirements "$revision" --command "$temp/drive"
done
stop

TOKEN=$(keys create --name check --tenant acme --role admin)
export TOKEN
for store in fs git; do
  begin "with keys, and after a restart: $store"
  start "keys-$store" --home "$temp/home-http-$store" --store "$store" --keys "$temp/keys.yaml"
  client "http-$store" http "$url/mcp"
  [ "$store" = git ] || inspector inspected http "$url/mcp"
  SVC_TOKEN=$TOKEN client "endpoint-$store" stdio "$temp/evalctl" serve mcp --ingest-files "$notes" --endpoint "$url"
  denied 403 wrong
  denied 401 ''
  stop
  start "again-$store" --home "$temp/home-http-$store" --keys "$temp/keys.yaml" --store "$store"
  client "http-$store" found "$url/mcp"
  client "again-$store" http "$url/mcp"
  stop
done
if [ "$failed" != 0 ]; then
  echo "FAIL: see above"
  exit 1
fi
echo "ok: all clients found what they expect"
