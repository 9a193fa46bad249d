#!/usr/bin/env bash
# Builds a release in dist/, which is deleted first: scripts/release.sh VERSION [OS/ARCH...]
#
# It writes one archive per platform and SHA256SUMS. The container image needs the programs, in
# OS_ARCH/, and its folders, in root/. The same commit, VERSION and version of Go produce identical
# files on any machine.
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
rm -rf dist
mkdir -p dist/root/{data,tmp}
for platform; do
  folder=dist/${platform/\//_}
  export GOOS=${platform%/*} GOARCH=${platform#*/}
  go build -trimpath -buildvcs=true -ldflags "-s -w -X main.release=$version" -o "$folder/" ./cmd/evalctl
  if ! go version -m "$folder"/evalctl* | grep -q vcs.revision; then
    echo "release: the program in $folder records no commit: build in a clone, not in a linked work tree" >&2
    exit 1
  fi
  cp LICENSE README.md CHANGELOG.md "$folder"
done
unset GOOS GOARCH
go run ./scripts/archive "$version" "$(git log -1 --format=%ct)" dist
