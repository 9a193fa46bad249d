#!/usr/bin/env bash
# Takes real memory services from npm and PyPI through evalctl: each is installed, started, mapped anew by
# target map, checked with its mapping, run with the questions of datasets/core.jsonl, replayed with
# LoCoMo's smallest conversation, and benched; then all are compared and ranked. Where a package needs a
# model, it gets the one of catalogue/provider.mjs. It prints a line for each service, and the table of
# docs/dev/memories.md. It fails if a shipped mapping does.
#
# Usage: catalogue.sh [NAME...], with the names of the table below; without one, all but txtai, whose
# packages take 6 GB. It needs Go, Node, npm, a C++ compiler for the server that compiles its SQLite, and
# Python: basic-memory needs 3.12 (PYTHON312), mcp-memory-service one whose SQLite loads extensions
# (PYTHON_SQLITE). LOCOMO is locomo5.json or locomo10.json, without which nothing is replayed. RESULTS is
# the folder of the result files, by default a temporary one; the comparison and the table have what is
# there, so that a service can be measured again alone.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh
. ../npm.sh
temp=$(mktemp -d)
pids=()
trap '[ "${#pids[@]}" = 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$temp"' EXIT
here=$PWD/catalogue
cache=${XDG_CACHE_HOME:-$HOME/.cache}/evalctl/catalogue
failed=0
python3=${PYTHON:-python3}

# python installs packages into a folder of their own, and sets $bin: python NAME INTERPRETER PACKAGE...
python() {
  local venv
  venv=$cache/$1-$(printf '%s ' "${@:2}" | cksum | tr ' ' -)
  bin=$venv/bin
  [ -e "$venv/installed" ] && return
  rm -rf "$venv"
  "$2" -m venv --without-pip "$venv" && # Debian's has none
    installing 900 "$python3" -m pip --python "$bin/python" install --quiet --disable-pip-version-check "${@:3}" && touch "$venv/installed"
}

# free prints a port that nothing uses.
free() { node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'; }

# serve starts a service, and waits until a route of it answers: serve PORT ROUTE COMMAND...
serve() {
  local port=$1 route=$2
  (cd "$temp" && exec "${@:3}" >>"$temp/services.log" 2>&1) &
  pids+=($!)
  for _ in {1..240}; do
    node -e "fetch('http://127.0.0.1:$port$route').then(r => process.exit(0), () => process.exit(1))" && return
    sleep 0.5
  done
  tail -5 "$temp/services.log"
  return 1
}

# evalctl runs the program that was built.
evalctl() { limited 1200 "$temp/evalctl" "$@"; }

# patient runs a command that starts a service, some of which need more than a minute for that.
patient() { evalctl "$@" --start-timeout 5m; }

# mapped proposes a mapping and checks a target with it: mapped NAME MAP
mapped() {
  rm -f "$temp/m.yaml"
  patient target map "$2" --output "$temp/m.yaml" || return 1
  case $2 in
  *.json) evalctl target check "$1=--mapping $temp/m.yaml ${2%/*}" ;;
  *) patient target check "$1=mcp: --mapping $temp/m.yaml $2" ;;
  esac
}

# step runs a part of the way of a service, and notes how it ended: step NAME PART COMMAND...
step() {
  local log=$temp/$1.$2
  if "${@:3}" >"$log" 2>&1; then
    state=ok
    return
  fi
  state=FAILED
  tail -n 12 "$log"
  printf '%s\t%s\t%s\n' "$1" "$2" "$(tail -n 1 "$log")" >>"$temp/failures"
}

# measure takes a target all the way: measure NAME DEFINITION MAP
measure() {
  local target=$1=$2 line
  begin "$1"
  step "$1" map mapped "$1" "$3"
  [ "$state" = ok ] && state=usable || state=no
  line="target map $(printf %-6s "$state")"
  step "$1" check patient target check --daemon-env OPENAI_API_KEY "$target"
  line+="  check $state"
  step "$1" run patient run --config none --target "$target" --dataset ../../datasets/core.jsonl --brain "core-$1" \
    --scenario search-retrieve-only --scorer retrieval --floor 0 --quiet --output "$results/core"
  line+="  run $state $(sed -n 's/ -> .*//; s/^[a-z0-9-]*: //p' "$temp/$1.run" | tail -1)"
  if [ -n "$conversation" ]; then
    rm -f "$results/replay/$1".{ledger,journal} # of a replay that was stopped
    step "$1" replay patient replay --config none --target "$target" --dataset "$conversation" --scorer retrieval \
      --concurrency 1 --quiet --output "$results/replay/$1.json"
    line+="  replay $state"
  fi
  step "$1" bench patient bench --config none --target "$target" --documents 100 --mix search --concurrency 1 --duration 5s --output "$results/bench"
  line+="  bench $state"
  printf '%-14s %s\n' "$1" "$line" | tee -a "$temp/table"
  grep -q FAILED <<<"$line" && failed=1 || true
}

begin "go build ./cmd/evalctl"
(cd ../.. && go build -o "$temp/evalctl" ./cmd/evalctl)
results=${RESULTS:-$temp/results}
mkdir -p "$results/replay"
locomo=${LOCOMO:-../../../shared/data/locomo/locomo5.json}
conversation=
if [ -e "$locomo" ]; then
  conversation=$temp/locomo.json
  node -e '
    const { readFileSync, writeFileSync } = require("fs")
    const all = JSON.parse(readFileSync(process.argv[1])).sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length)
    writeFileSync(process.argv[2], JSON.stringify(all.slice(0, 1)))
  ' "$locomo" "$conversation"
else
  echo "SKIPPED: nothing is replayed, because $locomo is not there"
fi
export SVC_CACHE_DIR=$temp/cache SVC_LLM_PROVIDER=fake OPENAI_API_KEY=none
unset SVC_HOME SVC_TOKEN
models=$(free)
serve "$models" / node "$here/provider.mjs" "$models"
export OPENAI_BASE_URL=http://127.0.0.1:$models/v1
packages() {
  [ -n "${modules-}" ] && return
  install catalogue
  # Its prebuilt binary is not on npm, and the header files of Node are those of the system.
  (cd "$modules/better-sqlite3" && [ -e build/Release/better_sqlite3.node ] ||
    limited 600 npm rebuild --prefix "$modules/.." better-sqlite3 "--nodedir=${NODE_HEADERS:-$(dirname "$(dirname "$(command -v node)")")}" --loglevel=error)
}

all=(server-memory libsql keeper devkit basic mms memento chroma mem0 lightrag txtai mms-rest)
[ "$#" -gt 0 ] || for name in "${all[@]}"; do [ "$name" = txtai ] || set -- "$@" "$name"; done
for name in "$@"; do
  case $name in
  server-memory) packages; measure "$name" "mcp:$modules/.bin/mcp-server-memory" "MEMORY_FILE_PATH={home}/m.json $modules/.bin/mcp-server-memory" ;;
  libsql) packages; measure "$name" "mcp:$modules/.bin/mcp-memory-libsql" "LIBSQL_URL=file:{home}/m.db $modules/.bin/mcp-memory-libsql" ;;
  keeper) packages; measure "$name" "mcp:$modules/.bin/mcp-memory-keeper" "$modules/.bin/mcp-memory-keeper" ;;
  devkit) # which starts only by the path of its file
    packages; measure "$name" "mcp: --mapping ai-devkit-memory node $modules/@ai-devkit/memory/dist/index.js" \
      "node $modules/@ai-devkit/memory/dist/index.js" ;;
  basic)
    python basic "${PYTHON312:-python3.12}" basic-memory==0.24.1
    measure "$name" "mcp:$bin/basic-memory mcp" "$bin/basic-memory mcp" ;;
  mms)
    python mms "${PYTHON_SQLITE:-$python3}" mcp-memory-service==12.4.0
    measure "$name" "mcp: --mapping mcp-memory-service $bin/memory server" "$bin/memory server" ;;
  memento)
    python memento "$python3" mcp-memento==0.2.37 'mcp<2'
    measure "$name" "mcp:$bin/memento" "$bin/memento" ;;
  chroma) # its own model comes from a hub; OpenAI's is the one of the stub
    python chroma "$python3" chroma-mcp==0.2.6 openai 'pydantic<2.12' # its mcp needs an old one
    measure "$name" "mcp: --mapping $here/chroma-openai.yaml $bin/chroma-mcp --client-type persistent --data-dir {home}/data" \
      "$bin/chroma-mcp --client-type persistent --data-dir {home}/data" ;;
  mem0)
    python mem0 "$python3" mem0ai==2.2.1 fastapi uvicorn qdrant-client
    port=$(free)
    mkdir "$temp/mem0"
    serve "$port" /openapi.json env MEM0_TELEMETRY=False "HOME=$temp/mem0" "$bin/python" "$here/mem0_server.py" "$temp/mem0" "$port"
    measure "$name" "--mapping mem0-rest MEM0_TELEMETRY=False $bin/python $here/mem0_server.py {home} {port}" "http://127.0.0.1:$port/openapi.json" ;;
  lightrag)
    python litellm "$python3" litellm # which has the tokenizer that LightRAG would download
    tokens=$("$bin/python" -c 'import litellm, os; print(os.path.dirname(litellm.__file__))')/litellm_core_utils/tokenizers
    python lightrag "$python3" 'lightrag-hku[api]==1.5.7'
    port=$(free)
    settings=("TIKTOKEN_CACHE_DIR=$tokens" LLM_BINDING=openai LLM_MODEL=gpt-4o-mini EMBEDDING_BINDING=openai
      EMBEDDING_MODEL=text-embedding-3-small EMBEDDING_DIM=1536)
    serve "$port" /health env "${settings[@]}" "LLM_BINDING_HOST=$OPENAI_BASE_URL" LLM_BINDING_API_KEY=none \
      "EMBEDDING_BINDING_HOST=$OPENAI_BASE_URL" EMBEDDING_BINDING_API_KEY=none \
      "$bin/lightrag-server" --host 127.0.0.1 --port "$port" --working-dir "$temp/rag" --input-dir "$temp/in"
    measure "$name" "--mapping lightrag ${settings[*]} $bin/lightrag-server --host 127.0.0.1 --port {port} --working-dir {home}/rag --input-dir {home}/in" \
      "http://127.0.0.1:$port/openapi.json" ;;
  txtai)
    python txtai "$python3" 'txtai[api]==9.14.0'
    port=$(free)
    serve "$port" /count env "CONFIG=$here/txtai.yml" "$bin/uvicorn" txtai.api:app --port "$port"
    measure "$name" "--mapping txtai CONFIG=$here/txtai.yml $bin/uvicorn txtai.api:app --port {port}" "http://127.0.0.1:$port/openapi.json" ;;
  mms-rest)
    python mms "${PYTHON_SQLITE:-$python3}" mcp-memory-service==12.4.0
    port=$(free)
    mkdir "$temp/mms"
    settings=(MCP_HTTP_ENABLED=true MCP_ALLOW_ANONYMOUS_ACCESS=true MCP_MEMORY_ALLOW_HASH_EMBEDDINGS=1)
    serve "$port" /api/health env "HOME=$temp/mms" "MCP_HTTP_PORT=$port" "${settings[@]}" "$bin/memory" server --http
    measure "$name" "--mapping mcp-memory-service-rest ${settings[*]} MCP_HTTP_PORT={port} $bin/memory server --http" "http://127.0.0.1:$port/openapi.json" ;;
  *) echo "no service is called $name" && exit 2 ;;
  esac
done
if [ -n "$conversation" ]; then
  shopt -s nullglob
  begin "compare, board and verify"
  files=()
  for name in "${all[@]}"; do [ -e "$results/replay/$name.json" ] && files+=("$results/replay/$name.json"); done
  evalctl verify "${files[@]}" >"$temp/verify" 2>&1 || { failed=1 && tail -n 5 "$temp/verify"; }
  [ "${#files[@]}" -lt 2 ] || evalctl compare "${files[@]}" >"$temp/compare" 2>&1 || { failed=1 && tail -n 5 "$temp/compare"; }
  evalctl show board "$results/replay" >"$temp/board" 2>&1 || { failed=1 && tail -n 5 "$temp/board"; }
  cat "$temp/board"
  echo
  node "$here/table.mjs" "$results" "${all[@]}"
fi
echo
cat "$temp/table"
[ "$failed" = 0 ] || exit 1
echo "ok: the services were measured in $SECONDS s"
