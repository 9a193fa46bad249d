// Package convert makes Markdown of files and web pages: of Markdown, text, JSON, HTML and PDF.
//
// Files come from strangers. Every one becomes a document or is rejected with a reason, in bounded
// time and memory, and nothing in a file is interpreted beyond its form: no link is followed, no
// script is run, and text does not become Markdown that it is not.
//
// All functions may be called concurrently.
package convert

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/protocol"
)

// ErrInvalid is a file that is not of its kind, that contains no text, or that exceeds the limits
// of conversion.
var ErrInvalid = errors.New("the file cannot be converted")

// maxTime bounds a conversion. Only files that are made to be slow reach it: the largest of others
// needs a few seconds.
const maxTime = 30 * time.Second

const maxTitle = protocol.MaxDocumentTitle

// maxMarkdown bounds the result of a conversion, in bytes. It is above MaxIngestBytes, because the
// form of Markdown needs some bytes, and because a PDF is compressed.
const maxMarkdown = 64 << 20

// Document is a converted file.
type Document struct {
	// Title is what the file itself gives as its title: that of an HTML page, of the properties of
	// a PDF, or the member "title" of a JSON object. It is on one line, has no control characters
	// and at most protocol.MaxDocumentTitle code points. It may be empty, and always is for
	// Markdown and text.
	Title string
	// Markdown is the body, without front matter except that of a Markdown file. It is valid UTF-8
	// of at most 64 MiB and never empty.
	Markdown string
}

// Convert converts a file of a known kind. The name appears in errors.
//
// Text, Markdown and JSON are UTF-8, with or without a byte order mark, or UTF-16 with one. HTML
// may declare its charset. See Decode for a charset that is known from elsewhere.
//
// The error is ErrInvalid, or that of ctx if it ends first.
func Convert(ctx context.Context, kind Kind, name string, data []byte) (Document, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var (
		doc Document
		err error
	)
	switch kind {
	case Markdown:
		doc, err = fromMarkdown(data)
	case Text:
		doc, err = fromText(ctx, data)
	case JSON:
		doc, err = fromJSON(ctx, data)
	case HTML:
		doc, err = fromHTML(ctx, nil, data, false)
	case PDF:
		doc, err = fromPDF(ctx, data)
	default:
		return Document{}, fmt.Errorf("%w: %.40q: use %s", ErrKind, string(kind), supported)
	}
	return finish(outer, name, doc, err)
}

// Page converts the main text of a web page, without navigation, footers and the like. If no main
// text is found, the whole page is converted. Relative links are resolved against base, which may
// be nil, and appears in errors. Only links to http, https and mailto are kept.
//
// The errors are those of Convert.
func Page(ctx context.Context, base *url.URL, data []byte) (Document, error) {
	name := "page"
	if base != nil {
		name = base.Redacted()
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	doc, err := fromHTML(limited, base, data, true)
	return finish(ctx, name, doc, err)
}

// finish checks and completes the result of a conversion.
func finish(ctx context.Context, name string, doc Document, err error) (Document, error) {
	switch {
	case ctx.Err() != nil:
		return Document{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("its conversion takes longer than %v", maxTime)
	case err == nil && len(doc.Markdown) > maxMarkdown:
		err = errTooLong
	case err == nil && !hasText(doc.Markdown):
		err = errNoText
	}
	if err != nil {
		return Document{}, fmt.Errorf("%w: %s: %w", ErrInvalid, oneLine(name, 200), err)
	}
	doc.Title = oneLine(doc.Title, maxTitle)
	return doc, nil
}

var (
	errNoText  = errors.New("it contains no text")
	errTooLong = fmt.Errorf("it has more than %d MiB of text", maxMarkdown>>20)
)

func hasText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsControl(r) && r != '\ufeff'
	})
}

// oneLine returns the first words of s, as many as fit into limit code points and at least a part
// of the first one, without control characters.
func oneLine(s string, limit int) string {
	// A title of megabytes is not worth reading to its end.
	if most := 16 * limit; len(s) > most {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || unicode.IsControl(r) || r == '\ufeff':
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	cut := string(runes[:limit])
	if i := strings.LastIndexByte(cut, ' '); i > 0 && runes[limit] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ")
}
