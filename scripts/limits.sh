# To be sourced: what keeps scripts from waiting for ever.

# begin says which part of a script begins.
begin() { printf -- '-- %s  (at %d s)\n' "$1" "$SECONDS"; }

# limited runs a program for so many seconds at most: limited SECONDS PROGRAM...
# At the limit the program is named. It and its group get SIGTERM, and SIGKILL 30 s later. The code
# is then 124 or 137.
limited() {
  local code=0 began=$SECONDS
  if command -v timeout >/dev/null; then
    timeout --kill-after=30 "$@" </dev/null || code=$?
  else # macOS has none
    "${@:2}" </dev/null || code=$?
  fi
  [ "$code" != 0 ] && [ "$((SECONDS - began))" -ge "$1" ] && printf 'NOT DONE after %d s: %s\n' "$1" "${*:2}"
  return "$code"
}

# patiently is limited for programs of others, which hang now and then: they get a second time.
patiently() {
  local code=0
  limited "$@" || code=$?
  [ "$code" = 124 ] || return "$code"
  echo "Once more:"
  limited "$@"
}

# ends ends a process that this shell has started. It fails if the process does not end within 20 s,
# or not well. A Go program that does not prints its goroutines then.
ends() {
  local code=0 try
  for try in {1..20}; do
    kill "$1" 2>/dev/null || break # again each second: a process that has only begun may miss one
    for _ in {1..10}; do
      kill -0 "$1" 2>/dev/null || break 2
      sleep 0.1
    done
  done
  if kill -QUIT "$1" 2>/dev/null; then
    sleep 1
    kill -KILL "$1" 2>/dev/null || true
  fi
  wait "$1" || code=$?
  [ "$code" = 0 ] || printf 'FAIL: process %d ended with %d after SIGTERM\n' "$1" "$code"
  return "$code"
}

# installing runs a command that needs a registry, up to three times: installing SECONDS COMMAND...
installing() {
  local try
  for try in 1 2 3; do
    limited "$@" && return
    printf 'attempt %d of 3 failed: %s\n' "$try" "${*:2}"
  done
  return 1
}

root=()
[ "$(id -u)" = 0 ] || root=(sudo -n)

# debian installs a package of Debian, as root or with a sudo that needs no password.
debian() {
  local options=(-o Acquire::http::Timeout=60 -o Acquire::Retries=2 -o DPkg::Lock::Timeout=300)
  installing 120 "${root[@]}" apt-get "${options[@]}" update &&
    installing 600 "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get "${options[@]}" install -y --no-install-recommends "$1"
}
