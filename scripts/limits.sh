# To be sourced: limits for a script's parts, so that none waits for ever. What reaches its limit ends
# with a report of what was still running.

# begin says which part of the script begins, and ends the script if the part takes longer:
# begin SECONDS TEXT
# The script calls unguard "$part" when it ends.
begin() {
  unguard "${part-}"
  printf -- '-- %s  (at %d s)\n' "$2" "$SECONDS"
  guard "$1" "$BASHPID" "$2"
  part=$guard
}

# guard ends a process and its descendants after a time, unless they have ended: guard SECONDS PID TEXT
# It sets $guard, the argument of unguard.
guard() {
  # It waits until the subshell has left the script's trap, which a signal would run there too.
  { read -r guard; } 3>&1 < <(trap - EXIT; echo "$BASHPID"; overdue "$@" >&3)
}
# unguard ends a guard. One whose time was over has some seconds to finish its report.
unguard() {
  for _ in {1..30}; do
    kill "$1" 2>/dev/null || return 0
    sleep 0.1
  done
}

overdue() {
  local limit=$1 root=$2 self=$BASHPID log logs=() pid pids programs
  SECONDS=0
  while [ "$SECONDS" -lt "$limit" ]; do
    sleep 1
    kill -0 "$root" 2>/dev/null || exit 0
  done
  trap '' TERM
  set +e
  printf 'FAIL: %s: not done after %d s. Still running:\n' "$3" "$limit"
  pids=$(family "$root" "$self")
  printf '%s\n' "$pids"
  programs=$(awk '$4 !~ /Z/ && $6 ~ /(^|\/)evalctl$/ { print $1 }' <<<"$pids")
  pids=$(awk '{ print $1 }' <<<"$pids")
  pids=${pids:-$root} # there may be no ps

  # SIGQUIT prints the goroutines of evalctl. Those in a file are shown, also if the script deletes it.
  for pid in $programs; do
    if [ -f "/proc/$pid/fd/2" ] && ! [ "/proc/$pid/fd/2" -ef /dev/stdout ]; then
      exec {log}<"/proc/$pid/fd/2"
      cat <&"$log" >/dev/null
      logs+=("$log")
    fi
  done
  [ -z "$programs" ] || kill -QUIT $programs 2>/dev/null
  kill -TERM "$root" 2>/dev/null           # at once, so that a script does not go on
  kill -CONT "$root" $programs 2>/dev/null # they may be stopped
  sleep 1
  for log in "${logs[@]}"; do cat <&"$log"; done

  kill -TERM $pids 2>/dev/null
  kill -CONT $pids 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    kill -0 $pids 2>/dev/null || exit 0
  done
  printf 'killed, because SIGTERM did not end them: %s\n' "$(echo $pids)"
  kill -KILL $pids 2>/dev/null
}

# family lists a process and its descendants, those included that are only in the process group of
# one: family PID EXCEPT. Each line has the process, its parent, its group, its state, its age and its
# command. EXCEPT and its children are left out.
family() {
  ps -axo pid=,ppid=,pgid=,stat=,etime=,command= | awk -v root="$1" -v but="$2" '
    { pid[NR] = $1; parent[$1] = $2; group[$1] = $3; line[$1] = $0 }
    END {
      member[root] = 1
      if (group[root] == root) groups[root] = 1
      do {
        found = 0
        for (i = 1; i <= NR; i++) {
          p = pid[i]
          if (p in member || p == but || parent[p] == but) continue
          if (parent[p] in member || group[p] in groups) {
            member[p] = found = 1
            if (group[p] != group[root]) groups[group[p]] = 1
          }
        }
      } while (found)
      print line[root]
      for (i = 1; i <= NR; i++) if (pid[i] in member && pid[i] != root) print line[pid[i]]
    }'
}

# ends ends a process that this shell has started. It fails if the process does not end, or not well.
ends() {
  local code=0 guard
  kill "$1" 2>/dev/null || true
  guard 20 "$1" "process $1, which SIGTERM should end"
  wait "$1" || code=$?
  unguard "$guard"
  [ "$code" = 0 ] || printf 'FAIL: process %d ended with %d\n' "$1" "$code"
  return "$code"
}

# installing runs a command that needs a registry, up to three times: installing SECONDS COMMAND...
installing() {
  local limit=(timeout --foreground --kill-after=10 "$1") code try
  shift
  if ! command -v timeout >/dev/null; then
    echo "no limit for $1: timeout, of the GNU coreutils, is not there"
    limit=()
  fi
  for try in 1 2 3; do
    code=0
    "${limit[@]}" "$@" </dev/null || code=$?
    [ "$code" != 0 ] || return 0
    printf 'attempt %d of 3 failed with %d (124 is the limit of time): %s\n' "$try" "$code" "$*"
  done
  return "$code"
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
