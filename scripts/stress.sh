#!/usr/bin/env bash
# Runs tests again and again on a machine that is busy, and lists what failed, by round:
#
#   scripts/stress.sh [ROUNDS [LOAD [FLAG OR PACKAGE...]]]    default: 10 10 ./...
#
# LOAD is the number of processes that compute meanwhile. Of three rounds, the second has one
# processor for the Go code of a process (GOMAXPROCS=1), and the third one for everything
# (taskset). The logs of the rounds with failures stay in a folder, whose name is printed.
set -euo pipefail
rounds=${1-10}
load=${2-10}
[ $# -gt 2 ] || set -- "$rounds" "$load" ./...
shift 2
case $rounds$load in
*[!0-9]*)
  echo "ROUNDS $rounds, LOAD $load: must be numbers" >&2
  exit 2
  ;;
esac

logs=$(mktemp -d "${TMPDIR:-/tmp}/evalctl-stress-XXXXXX")
busy=()
finish() { [ "${#busy[@]}" = 0 ] || kill "${busy[@]}" 2>/dev/null || true; }
trap finish EXIT
for ((i = 0; i < load; i++)); do
  nice -n 5 sh -c 'while :; do :; done' &
  busy+=("$!")
done

# failures prints the tests that a log says have failed, or were running at the limit, each with its
# package. A package that fails without such a test is listed alone.
failures() {
  awk '
    /^ *--- FAIL: / { failed[++n] = $3; next }
    /^panic: test timed out/ { hung = 1; next }
    hung && /^\tTest|^\t\tTest/ { failed[++n] = $1 " (not done)"; next }
    hung && /^goroutine / { hung = 0; next }
    /^FAIL\t/ {
      if (n == 0) print $2
      for (i = 1; i <= n; i++) print $2, failed[i]
      n = 0
    }' "$1"
}

failed=0
for ((round = 1; round <= rounds; round++)); do
  run=(go test -vet=off -count=1 -timeout 10m "$@")
  how=""
  case $((round % 3)) in
  2)
    run=(env GOMAXPROCS=1 "${run[@]}")
    how=", GOMAXPROCS=1"
    ;;
  0)
    if command -v taskset >/dev/null; then
      run=(taskset -c 0 "${run[@]}")
      how=", one processor"
    fi
    ;;
  esac
  began=$SECONDS
  log=$logs/round-$round.log
  if "${run[@]}" >"$log" 2>&1; then
    printf 'round %d of %d%s: ok in %d s\n' "$round" "$rounds" "$how" "$((SECONDS - began))"
    rm "$log"
    continue
  fi
  failed=$((failed + 1))
  printf 'round %d of %d%s: FAIL in %d s\n' "$round" "$rounds" "$how" "$((SECONDS - began))"
  failures "$log" | sed 's/^/  /'
done
if [ "$failed" -gt 0 ]; then
  printf '%d of %d rounds failed: see %s\n' "$failed" "$rounds" "$logs"
  exit 1
fi
rmdir "$logs"
