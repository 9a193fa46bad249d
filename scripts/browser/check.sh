#!/usr/bin/env bash
# Checks the HTML pages of evalctl in a real browser, with check.mjs: pages of a run whose dataset
# and documents try to run scripts, of a comparison, a replay, a board, benches and a conformance
# report. With view.mjs it checks those of evalctl show --serve over a folder of such results.
#
# It needs Go, Node and npm, and Chromium, which it installs if it can. Without a browser it prints
# SKIPPED. The packages are installed into a cache folder, in the versions of the lock file.
# SHOTS=FOLDER keeps screenshots.
set -euo pipefail
cd "$(dirname "$0")"
. ../limits.sh
. ../npm.sh
temp=$(mktemp -d)
daemon=
viewer=
finish() {
  local code=0
  for process in $daemon $viewer; do ends "$process" || code=1; done
  rm -rf "$temp"
  [ "$code" = 0 ] || exit 1
}
trap finish EXIT

browser() {
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" && return
  done
  return 1
}
if ! CHROMIUM=$(browser) && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  begin "chromium from Debian's packages"
  debian chromium >"$temp/apt.log" 2>&1 || tail -20 "$temp/apt.log"
  CHROMIUM=$(browser) || true
fi
if [ -z "$CHROMIUM" ]; then
  echo "SKIPPED: no Chromium on the PATH, and it cannot be installed here"
  exit 0
fi
export CHROMIUM

install .
cp ./*.mjs "$temp" # Node looks for packages in the folders above a script
ln -s "$modules" "$temp/node_modules"
begin "go build ./cmd/evalctl"
(cd ../.. && go build -o "$temp/evalctl" ./cmd/evalctl)
[ -z "${SHOTS:-}" ] || { mkdir -p "$SHOTS" && SHOTS=$(cd "$SHOTS" && pwd) && export SHOTS; }
cd "$temp"
unset SVC_HOME SVC_TOKEN SVC_STORE SVC_EMBED_PROVIDER GITHUB_STEP_SUMMARY
export SVC_LLM_PROVIDER=fake

# quietly runs evalctl, whose exit codes 0 and 1 are verdicts. Anything else is shown and ends this.
quietly() {
  local code=0
  ./evalctl "$@" >out.log 2>&1 || code=$?
  [ "$code" -le 1 ] || { cat out.log; exit 1; }
}

begin "runs with a dataset and documents that try everything a page must not do"
node - <<'JS'
const { mkdirSync, writeFileSync } = require('node:fs');
const attack = '"\'><script>hostile=1</script><img src=x onerror=hostile=2><svg onload=hostile=3></svg>' +
  '</textarea></style></script> <a href="javascript:hostile=4">x</a> {{.}} ${7*7} \u202egnp.exe\u202c \u2066x\u2069 ';
mkdirSync('hostile.corpus');
const questions = [];
for (let i = 0; i < 14; i++) {
  const word = 'harbour' + 'abcdefghijklmn'[i];
  writeFileSync(`hostile.corpus/${word}.md`, `# ${word}\n\nThe ${word} <script>hostile=1</script> is ${attack} number ${i * 7} of the ${word}.\n`);
  questions.push(JSON.stringify({
    id: i === 3 ? '<script>hostile=5</script>' : `q-${i}`,
    question: `What is the number of the ${word}? ${i % 2 ? attack : ''}`,
    expected_substrings: [i % 3 ? String(i * 7) : '<b>not there</b>'], expected_paths: [`${word}.md`],
    reference_answer: `${i * 7} ${attack}`, tags: [i % 2 ? 'odd' : '<script>even</script>', `part:${i % 3}`],
  }));
}
writeFileSync('hostile.jsonl', questions.join('\n') + '\n');
JS
quietly run --sdk go --dataset hostile.jsonl --scorer exact --output one --html hostile.html

quietly run --sdk go --dataset hostile.jsonl --scorer exact --output two --top-k 1 --repeats 2
quietly compare one/*/go.json two/*/go.json --accept top_k --html comparison.html
touch serve.out view.out
./evalctl serve --addr 127.0.0.1:0 --store memory >>serve.out 2>serve.log &
daemon=$!
for _ in $(seq 600); do
  url=$(sed -n 's/^evalctl: listening on //p' serve.out)
  [ -z "$url" ] || break
  sleep 0.1
done
quietly conformance --endpoint "$url" --only brains --html conformance.html
quietly replay --sdk go --without-memory oracle --without-memory no-memory --dataset hostile.jsonl \
  --corpus hostile.corpus --model fake --judge fake --output replay --html replay.html
quietly board replay --html board.html
quietly sweep --sdk go --dataset hostile.jsonl --top-k 1,5 --output sweep
quietly report sweep/*/go.sweep.json --html sweep.html
quietly bench --target memory='SVC_STORE=memory go' --target go --rate 40/s --duration 4s \
  --require 'p99<50ms,errors<0.1%' --output bench --html bench.html
quietly bench --target go --grow 50,100,200 --duration 3s --output grow --html grow.html
begin "the pages in Chromium"
HOSTILE=1 node check.mjs hostile.html comparison.html replay.html replay.go.html
node check.mjs conformance.html board.html sweep.html bench.html grow.html

# The documents have lost their numbers in the last of 40 nights, and a run has not finished.
begin "a folder of results"
cp -r hostile.corpus worse.corpus
sed -i.old 's/[0-9]//g' worse.corpus/harbour[e-l].md
rm worse.corpus/*.old
quietly run --sdk go --dataset hostile.jsonl --corpus worse.corpus --scorer exact --output worse
for night in $(seq 40); do
  day=$(printf '2026-%02d-%02d' $((night > 30 ? 2 : 1)) $((night > 30 ? night - 30 : night)))
  from=one
  [ "$night" -le 25 ] || from=worse
  mkdir -p "results/$day"
  sed -E 's/"(started|finished)_at": "[0-9-]{10}/"\1_at": "'"$day/" "$from"/*/go.json >"results/$day/go.json"
done
quietly run --sdk go --dataset hostile.jsonl --scorer exact --output results --max-failures 2
./evalctl show --serve results >>view.out 2>view.log &
viewer=$!
for _ in $(seq 600); do
  pages=$(sed -n 's/^evalctl: listening on //p' view.out)
  [ -z "$pages" ] || break
  sleep 0.1
done
begin "evalctl show --serve in Chromium"
node view.mjs "$pages" results/*/go.journal
