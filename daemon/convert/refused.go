package convert

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
)

// isText reports whether the bytes of a file are text, in whatever charset: the MIME Sniffing
// standard of WHATWG finds nothing else in them, and no byte is NUL unless it is UTF-16.
func isText(data []byte) bool {
	head := data[:min(len(data), 512)]
	found, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	switch {
	case bytes.HasPrefix(data, []byte(`{\rtf`)):
		return false
	case strings.HasPrefix(found, "text/"):
		return hasMark(data) || bytes.IndexByte(data, 0) < 0
	}
	return false
}

// advice is the type of a file that cannot be converted, and what to do.
const (
	wordProcessor = "a document of a word processor: save it as PDF, HTML or text"
	spreadsheet   = "a spreadsheet: save its sheets as CSV"
	slides        = "a presentation: save it as PDF"
	book          = "an e-book: convert it to HTML or text"
	picture       = "a picture: ingest the text that it shows"
	sound         = "a recording: ingest a transcript"
	archive       = "an archive: unpack it and ingest its files"
	database      = "a database: export its records as CSV or JSON"
	program       = "a program: ingest its documentation"
	font          = "a font, which has no text"
	printed       = "PostScript: convert it to PDF"
)

// refusedTypes are media types of application/, without that.
var refusedTypes = map[string]string{
	"rtf": wordProcessor, "msword": wordProcessor,
	"vnd.openxmlformats-officedocument.wordprocessingml.document":   wordProcessor,
	"vnd.oasis.opendocument.text":                                   wordProcessor,
	"vnd.ms-excel":                                                  spreadsheet,
	"vnd.openxmlformats-officedocument.spreadsheetml.sheet":         spreadsheet,
	"vnd.oasis.opendocument.spreadsheet":                            spreadsheet,
	"vnd.ms-powerpoint":                                             slides,
	"vnd.openxmlformats-officedocument.presentationml.presentation": slides,
	"vnd.oasis.opendocument.presentation":                           slides,
	"epub+zip":                                                      book, "x-mobipocket-ebook": book,
	"zip": archive, "gzip": archive, "x-gzip": archive, "x-tar": archive, "x-7z-compressed": archive, "vnd.rar": archive,
	"x-rar-compressed": archive, "x-bzip2": archive, "x-xz": archive, "zstd": archive, "java-archive": archive,
	"vnd.sqlite3": database, "x-sqlite3": database, "vnd.apache.parquet": database,
	"x-executable": program, "x-mach-binary": program, "wasm": program, "x-msdownload": program,
	"postscript": printed, "vnd.ms-fontobject": font, "ogg": sound,
}

// refusedExtensions has the extensions of file types that are often sent, without the dot.
var refusedExtensions = func() map[string]string {
	all := map[string]string{}
	for what, extensions := range map[string]string{
		wordProcessor: "doc docx docm dot dotx odt ott rtf pages wpd",
		spreadsheet:   "xls xlsx xlsm xlsb ods numbers",
		slides:        "ppt pptx pps ppsx odp key",
		book:          "epub mobi azw azw3 djvu",
		picture:       "png jpg jpeg gif webp bmp tif tiff heic heif avif ico psd ai raw",
		sound:         "mp3 m4a wav flac ogg opus aac wma mp4 m4v mov avi mkv webm wmv mpg mpeg",
		archive:       "zip tar gz tgz bz2 xz zst 7z rar jar war iso dmg",
		database:      "db sqlite sqlite3 mdb accdb parquet pst mbtiles",
		program:       "exe dll so dylib bin o a class wasm pyc msi deb rpm apk",
		font:          "ttf otf woff woff2 eot",
		printed:       "ps eps",
	} {
		for _, ext := range strings.Fields(extensions) {
			all[ext] = what
		}
	}
	return all
}()

// refusal names the type of a file and what to do. The bytes decide before the name, which may be
// wrong, unless they only show a container.
func refusal(contentType, name string, data []byte) string {
	given, _, _ := mime.ParseMediaType(contentType)
	found, _, _ := mime.ParseMediaType(http.DetectContentType(data[:min(len(data), 512)]))
	byName := refusedExtensions[strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")]
	what := ""
	for _, candidate := range []string{ofType(found), byName, ofType(given)} {
		if what == "" || what == archive && candidate != "" {
			what = candidate
		}
	}
	if bytes.HasPrefix(data, []byte(`{\rtf`)) {
		what = wordProcessor
	}
	if what == "" {
		what = fmt.Sprintf("binary data (%s): name its kind with as if it is %s", found, supported)
	}
	if given != "" {
		given = fmt.Sprintf(" (content type %.100q)", given)
	}
	return fmt.Sprintf("%.100q%s is %s", path.Base(name), given, what)
}

// ofType returns the advice for a media type.
func ofType(mediaType string) string {
	main, sub, _ := strings.Cut(mediaType, "/")
	switch main {
	case "image":
		return picture
	case "audio", "video":
		return sound
	case "font":
		return font
	case "application":
		return refusedTypes[sub]
	}
	return ""
}
