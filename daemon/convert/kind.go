package convert

import (
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"

	"evalctl/daemon/protocol"
)

// Kind is a kind of file that can be converted.
type Kind string

// The kinds.
const (
	Markdown Kind = protocol.AsMarkdown
	Text     Kind = protocol.AsText
	JSON     Kind = protocol.AsJSON
	HTML     Kind = protocol.AsHTML
	PDF      Kind = protocol.AsPDF
)

// ErrKind means that the kind of a file is unknown or cannot be converted.
var ErrKind = errors.New("unsupported kind of file")

const supported = "markdown, text, json, html or pdf"

var kindsByType = map[string]Kind{
	"text/markdown": Markdown, "text/x-markdown": Markdown,
	"text/plain": Text, "text/csv": Text,
	"application/json": JSON, "text/json": JSON,
	"application/jsonl": JSON, "application/x-ndjson": JSON, "application/jsonlines": JSON,
	"text/html": HTML, "application/xhtml+xml": HTML,
	"application/pdf": PDF, "application/x-pdf": PDF,
}

var kindsByExtension = map[string]Kind{
	".md": Markdown, ".markdown": Markdown,
	".txt": Text, ".text": Text, ".log": Text, ".csv": Text, ".tsv": Text,
	".json": JSON, ".jsonl": JSON, ".ndjson": JSON,
	".html": HTML, ".htm": HTML, ".xhtml": HTML,
	".pdf": PDF,
}

// errOpen is an ErrKind that the bytes of the file can settle: the file may be text.
var errOpen = fmt.Errorf("%w", ErrKind)

// KindOfFile is KindOf for a file whose bytes are known. If neither the content type nor the
// extension decides, a file with text, such as source code, YAML or subtitles, is Text. The error
// for any other file names its type and what to do.
func KindOfFile(as, contentType, name string, data []byte) (Kind, error) {
	kind, err := KindOf(as, contentType, name)
	if err == nil || as != "" {
		return kind, err
	}
	if errors.Is(err, errOpen) && isText(data) {
		return Text, nil
	}
	return "", fmt.Errorf("%w: %s", ErrKind, refusal(contentType, name, data))
}

// KindOf returns the kind of a file. The first of these that is known decides: as, which is a Kind
// or empty; the content type, with or without parameters; the extension of the name, in upper or
// lower case. Convert checks that the bytes are of that kind.
//
// The type application/octet-stream means unknown. The type text/plain is also sent for files with
// a more precise extension, so it leaves Markdown and JSON to the extension. Any other type of
// text/ is text, and so is a file without content type whose name has no extension.
//
// Everything else is ErrKind. So is a value of as that is not a Kind, and a content type that
// cannot be converted, whatever the extension.
func KindOf(as, contentType, name string) (Kind, error) {
	switch kind := Kind(as); kind {
	case Markdown, Text, JSON, HTML, PDF:
		return kind, nil
	case "":
	default:
		return "", fmt.Errorf("%w: as %.40q: use %s", ErrKind, as, supported)
	}
	byType, err := kindOfType(contentType)
	if err != nil {
		return "", err
	}
	ext := strings.ToLower(path.Ext(name))
	byName := kindsByExtension[ext]
	switch {
	case byType == Text && (byName == Markdown || byName == JSON):
		return byName, nil
	case byType != "":
		return byType, nil
	case byName != "":
		return byName, nil
	case ext == "" || ext == ".":
		return Text, nil
	}
	return "", fmt.Errorf("%w: extension %.40q: name the kind with as: %s", errOpen, ext, supported)
}

// kindOfType returns the kind of a content type, or "" if it leaves the kind open.
func kindOfType(contentType string) (Kind, error) {
	if strings.TrimSpace(contentType) == "" {
		return "", nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	// The type is known even if a parameter is malformed.
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return "", fmt.Errorf("%w: content type %.100q: %w", ErrKind, contentType, err)
	}
	switch {
	case mediaType == protocol.TypeBytes || mediaType == "binary/octet-stream":
		return "", nil
	case kindsByType[mediaType] != "":
		return kindsByType[mediaType], nil
	case strings.HasSuffix(mediaType, "+json"):
		return JSON, nil
	case strings.HasPrefix(mediaType, "text/") && mediaType != "text/rtf":
		return Text, nil
	}
	return "", fmt.Errorf("%w: content type %.100q: supported are %s", open(mediaType), mediaType, supported)
}

// open returns errOpen for a type that may be a name of text, such as application/yaml.
func open(mediaType string) error {
	if sub, ok := strings.CutPrefix(mediaType, "application/"); ok && refusedTypes[sub] == "" && !strings.HasPrefix(sub, "vnd.") || strings.HasSuffix(mediaType, "+xml") {
		return errOpen
	}
	return ErrKind
}
