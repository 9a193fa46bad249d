#!/usr/bin/env bash
# Measures memory servers of others, from npm, with evalctl: each is checked, and two remember and find
# LoCoMo's smallest conversation. The one without a search must be refused.
#
# It needs Go, Node and npm, and ../shared/data/locomo/locomo5.json, without which it only checks.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh
. ../npm.sh
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
install memories
bin=$modules/.bin
begin "go build ./cmd/evalctl"
(cd ../.. && go build -o "$temp/evalctl" ./cmd/evalctl)
export SVC_LLM_PROVIDER=fake SVC_CACHE_DIR=$temp/cache
unset SVC_HOME SVC_TOKEN
evalctl() { "$temp/evalctl" "$@"; }
failed=0
fail() { echo "FAIL: $*" && failed=1; }

# Each writes, finds and deletes as far as it can.
for server in mcp-server-memory mcp-memory-libsql mcp-server-memory-bank; do
  begin "target check: $server"
  if evalctl target check "m=mcp:$bin/$server" >"$temp/check" 2>&1; then
    echo "ok  $server: $(grep -c ' ok ' "$temp/check") steps, $(grep -c 'not measurable' "$temp/check") not measurable"
  else
    fail "$server:" && cat "$temp/check"
  fi
done

begin "target map: a mapping that is proposed for a server from its tools"
if evalctl target map "MEMORY_FILE_PATH={home}/m.json $bin/mcp-server-memory" --output "$temp/m.yaml" >"$temp/map" 2>&1 &&
  evalctl target check "m=mcp: --mapping $temp/m.yaml $bin/mcp-server-memory" >"$temp/check" 2>&1; then
  echo "ok  the proposed mapping of mcp-server-memory works"
else
  fail "the proposed mapping:" && cat "$temp/map" "$temp/check"
fi

locomo=../../../shared/data/locomo/locomo5.json
if [ ! -e "$locomo" ]; then
  echo "SKIPPED: no conversation is measured, because $locomo is not there"
  exit "$failed"
fi
node -e '
  const all = JSON.parse(require("fs").readFileSync(process.argv[1]))
  const size = c => JSON.stringify(c).length
  all.sort((a, b) => size(a) - size(b))
  require("fs").writeFileSync(process.argv[2], JSON.stringify(all.slice(0, 1)))
' "$locomo" "$temp/one.json"
for mode in bulk replay; do
  begin "replay in the mode $mode"
  if evalctl replay --config none --target server="mcp:$bin/mcp-server-memory" --target libsql="mcp:$bin/mcp-memory-libsql" \
    --dataset "$temp/one.json" --scorer retrieval --ingest-mode "$mode" --output "$temp/$mode/" >"$temp/replay.log" 2>&1 &&
    evalctl verify "$temp/$mode/server.json" "$temp/$mode/libsql.json" >"$temp/verify.log" 2>&1; then
    grep -h pass_rate= "$temp/replay.log" | sed "s/^ */ok  $mode: /"
  else
    fail "replay in the mode $mode:" && cat "$temp/replay.log" "$temp/verify.log"
  fi
done
begin "replay of a server without a search"
if evalctl replay --config none --target bank="mcp:$bin/mcp-server-memory-bank" --dataset "$temp/one.json" --scorer retrieval \
  --output "$temp/bank.json" >"$temp/bank.log" 2>&1 || ! grep -q 'neither returns passages nor answers questions' "$temp/bank.log"; then
  fail "a server without a search was not refused:" && cat "$temp/bank.log"
else
  echo "ok  refused: $(grep -h 'neither returns passages nor answers questions' "$temp/bank.log" | head -1)"
fi
[ "$failed" = 0 ] || exit 1
echo "ok: the servers were measured in $SECONDS s"
