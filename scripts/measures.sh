#!/usr/bin/env bash
# Prints how large a copy of the repository is, and how its comments read:
#
#   scripts/measures.sh [FOLDER]
#
# Without a folder it measures this repository. The figures of two copies are compared with diff.
set -euo pipefail
folder=$(realpath "${1:-$(dirname "$0")/..}")
cd "$(dirname "$0")/.."
exec go run ./scripts/measures "$folder"
