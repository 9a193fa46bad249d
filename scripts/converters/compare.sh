#!/usr/bin/env bash
# Measures how many words conversion keeps of the test files of other programs: of the words that
# HTML converters are expected to keep, and of those that pdftotext reads in PDF files. The packages
# come from PyPI and the Go proxy and are not kept.
#
#   scripts/converters/compare.sh [FOLDER]
#
# FOLDER keeps the packages for the next time. Needs pip, go and pdftotext (poppler-utils). It may
# take some minutes, because pip prepares packages for a build before it keeps them.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v pdftotext >/dev/null || { echo "pdftotext is missing: install poppler-utils" >&2; exit 1; }
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

for package in html2text==2025.4.15 inscriptis==2.7.6 pypdf==7.1.1 playa-pdf==1.1.0 pypdfium2==5.15.2 \
	pdfreader==0.1.15 tabula-py==2.10.0 pikepdf==10.18.0 ocrmypdf==17.13.0; do
	name=${package%%==*}
	[ -d "$folder/$name" ] && continue
	pip download --quiet --no-deps --no-binary "$name" --dest "$folder" "$package"
	mkdir "$folder/$name"
	tar -xzf "$folder/${name//-/_}-${package##*==}.tar.gz" -C "$folder/$name" --strip-components 1
done
for module in html-to-markdown=github.com/JohannesKaufmann/html-to-markdown/v2@v2.5.2 \
	go-readability=github.com/go-shiori/go-readability@v0.0.0-20251205110129-5db1dc9836f0 \
	pdfcpu=github.com/pdfcpu/pdfcpu@v0.15.0 \
	ledongthuc-pdf=github.com/ledongthuc/pdf@v0.0.0-20260907135840-6c8c28e0e8a0 \
	dslipak-pdf=github.com/dslipak/pdf@v0.0.2 \
	go-trafilatura=github.com/markusmobius/go-trafilatura@v1.12.2; do
	name=${module%%=*}
	[ -e "$folder/$name" ] && continue
	ln -s "$(go mod download -json "${module#*=}" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')" "$folder/$name"
done

CONVERTERS=$folder go test ./daemon/convert -count 1 -run '^(TestWordsOfConverters|TestPhrasesOfPages)$' -v
