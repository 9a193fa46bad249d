#!/usr/bin/env bash
# Compares how well the daemons of three SDKs retrieve, with a published benchmark:
#
#   scripts/tri-sdk.sh --dataset FILE [--output FOLDER] [--port PORT] [FLAG]...
#
# Each daemon is filled with the same documents by the same calls. Each question is asked of all
# three at the same time, and one reader and one judge serve all of them. Further flags are those of
# evalctl replay, such as --model, --judge, --sample-size and --max-cost-usd. Daemons that ran
# different modes are ranked only with --accept effective_modes.
#
# The ts and py daemons are started by $SVC_SDK_TS_CMD and $SVC_SDK_PY_CMD, the go daemon by
# $SVC_SDK_GO_CMD or evalctl itself, on PORT (18850) and the two ports after it. $EVALCTL is the
# evalctl to use; by default this clone's is built.
#
# FOLDER, by default results/<date>/tri-sdk-<time>, gets the results ts.json, go.json and py.json,
# the daemons' logs, and README.md, which compares them. A daemon that fails is reported, and the
# others finish. The exit code is that of the worst.
set -euo pipefail

fail() {
  echo "tri-sdk: $*" >&2
  exit 2
}

root=$(cd "$(dirname "$0")/.." && pwd)
port=18850
output=
flags=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
    exit 0
    ;;
  --output | --port)
    [ $# -ge 2 ] || fail "$1 needs a value"
    if [ "$1" = --output ]; then output=$2; else port=$2; fi
    shift 2
    ;;
  --output=*) output=${1#*=} && shift ;;
  --port=*) port=${1#*=} && shift ;;
  --sdk | --sdk=* | --actor-style | --actor-style=* | --report | --report=* | --endpoint | --endpoint=* | --daemon-cmd | --daemon-cmd=* | --resume | --resume=*)
    fail "${1%%=*} is set by this script; use evalctl replay to choose it"
    ;;
  *) flags+=("$1") && shift ;;
  esac
done

# Everything that can be checked is checked before anything is started.
[ ${#flags[@]} -gt 0 ] || fail "--dataset is missing; scripts/tri-sdk.sh --help explains the flags"
[[ $port =~ ^[0-9]{1,5}$ ]] && [ "$port" -ge 1 ] && [ "$port" -le 65533 ] || fail "--port $port: must be from 1 to 65533"
for sdk in TS PY; do
  command=SVC_SDK_${sdk}_CMD
  [ -n "${!command:-}" ] ||
    fail "$command is not set: set it to the command that starts the daemon, such as 'my-daemon --addr {addr}'"
done
for taken in "$port" $((port + 1)) $((port + 2)); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$taken") 2>/dev/null; then
    fail "port $taken is taken: stop the program that listens on it, or give another --port"
  fi
done
[ -n "$output" ] || output=results/$(date -u +%F)/tri-sdk-$(date -u +%H%M%S)
if [ -e "$output" ] && [ -n "$(ls -A "$output")" ]; then
  fail "$output is not empty: give another --output, or remove it"
fi

temp=$(mktemp -d)
replay=
# shellcheck disable=SC2329 # a trap calls it
# finish ends the replay, which stops its daemons and keeps what is needed to resume it.
finish() {
  if [ -n "$replay" ] && kill -TERM "$replay" 2>/dev/null; then
    while kill -0 "$replay" 2>/dev/null; do wait "$replay" || true; done
  fi
  rm -rf "$temp"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

evalctl=${EVALCTL:-}
if [ -z "$evalctl" ]; then
  evalctl=$temp/evalctl
  (cd "$root" && go build -o "$evalctl" ./cmd/evalctl) || fail "evalctl could not be built"
fi
mkdir -p "$output"

"$evalctl" replay --sdk ts --sdk go --sdk py --port "$port" --actor-style retrieve-only \
  --output "$output" --report "$output/README.md" "${flags[@]}" &
replay=$!
code=0
wait "$replay" || code=$?
replay=

rmdir "$output" 2>/dev/null && exit "$code" # nothing was started
for sdk in ts go py; do
  [ -e "$output/$sdk.json" ] || echo "tri-sdk: no result of $sdk: see its log in $output" >&2
done
if [ -e "$output/README.md" ]; then
  echo "tri-sdk: $output/README.md compares the daemons" >&2
fi
exit "$code"
