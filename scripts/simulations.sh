#!/usr/bin/env bash
# Makes the tables of docs/dev/simulations.md and docs/dev/load.md again, and prints how often whole
# commands claim a difference of equal systems:
#
#   scripts/simulations.sh
#
# It takes about an hour on two processors. Tables that differ from the page are errors. The figures
# that the page computes itself are written with
# go test ./internal/stats -run TestDocument -update.
set -euo pipefail
cd "$(dirname "$0")/.."
export EVALCTL_TEST_LONG=1
failed=0
# simulate PACKAGE TESTS [FLAG...]
simulate() {
  echo "== $1: $2"
  go test -count=1 -vet=off -timeout 90m "$1" -run "$2" -v "${@:3}" || failed=1
}
simulate ./internal/stats 'TestDocument|TestSimulated'
simulate ./harness/compare 'TestSimulatedNulls' -full
simulate ./harness/labels 'TestEstimateCoversConversations|TestSimulatedLabels'
simulate ./harness/bench/record 'TestClaimsUnderConditions|TestCoverage|TestEqualBenches|TestShape'
simulate ./harness/bench/load 'TestSimulatedWarmUp'
simulate ./harness/bench 'TestFindLimitOf|TestBenchOf'
simulate ./cmd/evalctl 'TestNullCommands'
exit "$failed"
