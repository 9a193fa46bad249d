#!/usr/bin/env bash
# Builds a release in dist/, which is deleted first: scripts/release.sh VERSION [OS/ARCH...]
#
# It writes an archive for each platform; for Linux also a .deb, an .rpm and an image for containers;
# and SHA256SUMS. With RELEASE_URL, the folder in which these files will be published, it also writes
# evalctl.rb, a formula for Homebrew. The same commit, VERSION, RELEASE_URL and version of Go produce
# identical files on any machine.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1-}
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+][-+.0-9A-Za-z]+)?$ ]]; then
  echo "usage: scripts/release.sh VERSION [OS/ARCH...], with a version such as 1.2.3" >&2
  exit 2
fi
shift
[ $# -gt 0 ] || set -- {linux,darwin,windows}/{amd64,arm64}

export CGO_ENABLED=0 GOFLAGS= GOWORK=off GOEXPERIMENT= GOAMD64=v1 GOARM64=v8.0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH # nfpm reads it
rm -rf dist
mkdir -p dist/share

# build PLATFORM FOLDER builds the program.
build() {
  GOOS=${1%/*} GOARCH=${1#*/} go build -trimpath -buildvcs=true -ldflags "-s -w -X main.release=$version" -o "$2/" ./cmd/evalctl
}

# manual prints the manual page, which is the help of the program $1.
manual() {
  local commands command
  commands=$("$1" --help=all | sed -nE '/^Evaluate:/,$s/^  ([a-z]+( [a-z]+)?)  .*/\1/p')
  printf '.TH EVALCTL 1 "" "evalctl %s"\n.SH NAME\nevalctl \\- evaluate and benchmark memory services\n.SH USAGE\n.nf\n' "$version"
  "$1" --help=all | escaped
  while read -r command; do
    printf '.fi\n.SH evalctl %s\n.nf\n' "$command"
    "$1" $command --help=all | escaped
  done <<<"$commands"
}
# A backslash, and a dot or a quote at the start of a line, would be instructions.
escaped() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\\&&/"; }

for platform; do
  folder=dist/${platform/\//_}
  build "$platform" "$folder"
  if ! go version -m "$folder"/evalctl* | grep -q vcs.revision; then
    echo "release: the program in $folder records no commit: build in a clone, not in a linked work tree" >&2
    exit 1
  fi
  cp LICENSE README.md CHANGELOG.md "$folder"
done

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
program=dist/${host/\//_}/evalctl
if ! [ -x "$program" ]; then
  build "$host" dist/share
  program=dist/share/evalctl
fi
for shell in bash zsh fish; do "$program" completion $shell >dist/share/evalctl.$shell; done
manual "$program" | gzip -9n >dist/share/evalctl.1.gz

go build -modfile=tools/go.mod -o dist/share/ github.com/goreleaser/nfpm/v2/cmd/nfpm
go -C tools build -o ../dist/share/ ./image
for platform; do
  [[ $platform = linux/* ]] || continue
  name=dist/evalctl_${version}_${platform/\//_}
  for format in deb rpm; do
    VERSION=$version GOARCH=${platform#*/} MAINTAINER=$(git log -1 --format="%cn <%ce>") \
      dist/share/nfpm package --config tools/nfpm.yaml --packager $format --target "$name.$format" >/dev/null
  done
  dist/share/image "$version" "$SOURCE_DATE_EPOCH" "dist/${platform/\//_}/evalctl" "${platform#*/}" "$name.oci.tar"
done
go run ./scripts/archive "$version" "$SOURCE_DATE_EPOCH" dist "${RELEASE_URL-}"
