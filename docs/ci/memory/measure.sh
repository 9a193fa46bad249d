#!/usr/bin/env bash
# Measures a memory system by its retrieval, without a model and without a key, and compares it with
# an earlier result:
#
#   measure.sh TARGET [BASELINE]
#
# TARGET is what follows NAME= of evalctl's --target, such as "mcp: --mapping mapping.yaml npx -y
# my-memory" or "http://127.0.0.1:8000 --mapping mapping.yaml". BASELINE is the result of the main
# branch. evalctl starts what TARGET starts, waits for it, and stops it at the end, whatever happens.
#
# OUTPUT (results) gets the result, badge.svg, report.html and, with KEY, an SSH key without a
# passphrase, a signature. MARGIN (0.03) is the largest loss that is accepted. ARGS has further
# arguments of evalctl run. The exit code is that of evalctl run: 1 if the memory is worse than
# BASELINE or not shown to be as good, 4 if it could not be measured.
set -euo pipefail
target=${1:?usage: measure.sh TARGET [BASELINE]}
baseline=${2-}
output=${OUTPUT:-results}
here=$(cd "$(dirname "$0")" && pwd)
questions=${DATASET:-$here/../../../datasets/core.jsonl}

compared=()
[ -z "$baseline" ] || compared=(--baseline "$baseline" --margin "${MARGIN:-0.03}")
# shellcheck disable=SC2206 # ARGS is a list of words
more=(${ARGS-})

code=0
summary=$(evalctl run --target "memory=$target" --dataset "$questions" --scenario search-retrieve-only \
  --scorer retrieval --top-k 10 --floor none --output "$output" ${compared[@]+"${compared[@]}"} ${more[@]+"${more[@]}"}) || code=$?
echo "$summary"
result=${summary##* -> }
[ -f "$result" ] || exit "$code"
evalctl show "$result" --badge "$output/badge.svg" --html "$output/report.html"
[ -z "${KEY-}" ] || evalctl verify --sign "$result" --key "$KEY"
exit "$code"
