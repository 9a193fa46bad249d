#!/usr/bin/env bash
# Checks the packages of a release: scripts/packages/check.sh DIST VERSION
#
# Each is installed below a folder, used and removed, so that what is installed on this machine stays
# as it is. It needs dpkg, which Debian's systems have, rpm, which it installs from Debian's packages,
# and root or a sudo that needs no password.
set -euo pipefail
dist=$1 version=$2
cd "$(dirname "$0")/../.."
. scripts/limits.sh
fail() { printf 'packages: %s\n' "$*" >&2; exit 1; }
temp=$(mktemp -d)
trap '"${root[@]}" rm -rf "$temp"' EXIT
arch=$(dpkg --print-architecture)
package=$dist/evalctl_${version}_linux_$arch

# files lists what a package must install: files SITE_FUNCTIONS LICENSE
files() {
  { printf '%s\n' /usr/bin/evalctl /usr/share/bash-completion/completions/evalctl \
      /usr/share/fish/vendor_completions.d/evalctl.fish /usr/share/man/man1/evalctl.1.gz "$@"
    git ls-files 'datasets/*.jsonl' 'datasets/*.corpus/*' ':!datasets/audit' |
      sed "s,^datasets,$examples,"
  } | sort
}
examples=/usr/share/doc/evalctl/examples

begin "the .deb"
system=$temp/system
installed() { (cd "$system" && find . -path ./var -prune -o -type f -print | sed 's/^\.//' | sort); }
mkdir -p "$system"/var/lib/dpkg/{info,updates}
touch "$system"/var/lib/dpkg/{status,available}
"${root[@]}" dpkg --root="$system" --log=/dev/null --install "$package.deb"
diff <(files /usr/share/zsh/vendor-completions/_evalctl /usr/share/doc/evalctl/copyright) <(installed) ||
  fail "the .deb installs other files"
program=$system/usr/bin/evalctl
"$program" --version | grep -F "evalctl $version (" || fail "the installed program is not version $version"
"$program" run --sdk go --dataset "$system$examples/smoke.jsonl" --scorer exact --floor 0.5 --output "$temp/results" >"$temp/run.txt" 2>&1 ||
  fail "the installed program did not run the smoke dataset: $(tail -5 "$temp/run.txt")"
tail -1 "$temp/run.txt"
bash -c 'source "$1"; COMP_WORDS=(evalctl comp); COMP_CWORD=1; _evalctl; [ "${COMPREPLY[*]}" = "compare completion" ]' \
  - "$system/usr/share/bash-completion/completions/evalctl" || fail "the completion for bash is wrong"
page=$(gzip -dc "$system/usr/share/man/man1/evalctl.1.gz")
for command in run compare 'run sweep' 'serve keys' completion; do
  grep -qx ".SH evalctl $command" <<<"$page" || fail "the manual page has no command $command"
done
grep -qF '\-\-retry\-errors' <<<"$page" || fail "the manual page lacks flags"
"${root[@]}" dpkg --root="$system" --log=/dev/null --purge evalctl
[ -z "$(installed)" ] || fail "dpkg left files: $(installed)"

if ! command -v rpm >/dev/null; then
  begin "rpm from Debian's packages"
  debian rpm >"$temp/apt.txt" 2>&1 ||
    fail "apt-get could not install rpm: $(tail -3 "$temp/apt.txt")"
fi
begin "the .rpm"
system=$temp/redhat
database() { "${root[@]}" rpm --root="$system" --dbpath=/var/lib/rpm --nosignature "$@" 2>&1 | grep -v '^rpm: .*RPM\|^rpm: However' || true; }
mkdir "$system"
rpm --checksig --nosignature "$package.rpm" || fail "the .rpm is damaged"
diff <(echo "evalctl ${version/-/\~} 1 $(uname -m) linux Apache-2.0 localhost") \
  <(rpm -qp --nosignature --qf '%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{OS} %{LICENSE} %{BUILDHOST}\n' "$package.rpm") ||
  fail "the header of the .rpm is wrong"
database --nodeps --install "$package.rpm"
diff <(files /usr/share/zsh/site-functions/_evalctl /usr/share/licenses/evalctl/LICENSE) <(installed) ||
  fail "the .rpm installs other files"
[ -z "$(database --verify evalctl)" ] || fail "what the .rpm installed differs from it"
cmp "$system/usr/bin/evalctl" "$dist/linux_$arch/evalctl" || fail "the .rpm has another program"
database --erase evalctl
[ -z "$(installed)" ] || fail "rpm left files: $(installed)"
echo "the .deb and the .rpm install what they should"
