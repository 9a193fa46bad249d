// Package convert makes Markdown of files and web pages: of Markdown, text, JSON, HTML and PDF.
//
// Files come from strangers. Every file becomes a document or is rejected with a reason, in bounded
// time and memory. Nothing in a file is interpreted beyond its form: no link is followed, no script
// is run, and plain text does not turn into Markdown.
//
// All functions may be called concurrently.
package convert

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"evalctl/daemon/convert/budget"
	"evalctl/daemon/protocol"
	"evalctl/internal/admission"
	"evalctl/internal/printable"
)

// ErrInvalid means that a file is not of its kind, contains no text, or exceeds the limits of
// conversion.
var ErrInvalid = errors.New("the file cannot be converted")

// ErrOverloaded means that too many files are being converted at present. The file may be converted
// later.
var ErrOverloaded = admission.ErrOverloaded

const maxTitle = protocol.MaxDocumentTitle

// maxMarkdown bounds the result of a conversion, in bytes. It is above MaxIngestBytes, because the
// form of Markdown needs some bytes, and because a PDF is compressed.
const maxMarkdown = 64 << 20

// Document is a converted file.
type Document struct {
	// Title is the title in the file itself: in an HTML page, in the properties of a PDF, or in the
	// member "title" of a JSON object. It is on one line, has no control characters and at most
	// protocol.MaxDocumentTitle code points. It may be empty, and always is for Markdown and text.
	Title string
	// Markdown is the body. Only the body of a Markdown file has front matter. It is valid UTF-8 of
	// at most 64 MiB and never empty.
	Markdown string
}

// For returns a context for the conversions of a tenant. All conversions of the process share a
// budget of memory, in which the tenants take turns. Patient ones, for which no client waits, wait
// as long as it takes.
func For(ctx context.Context, tenant string, patient bool) context.Context {
	return budget.For(ctx, tenant, patient)
}

// Convert converts a file of a known kind. The name appears in errors.
//
// Text, Markdown and JSON are UTF-8, with or without a byte order mark, or UTF-16 with one. HTML
// may declare its charset. See Decode for a charset that is known from elsewhere.
//
// The error is ErrInvalid, ErrOverloaded, or ctx's if it ends first.
func Convert(ctx context.Context, kind Kind, name string, data []byte) (Document, error) {
	var convert func(context.Context, *budget.Meter) (Document, error)
	switch kind {
	case Markdown:
		convert = func(context.Context, *budget.Meter) (Document, error) { return fromMarkdown(data) }
	case Text:
		convert = func(ctx context.Context, _ *budget.Meter) (Document, error) { return fromText(ctx, data) }
	case JSON:
		convert = func(ctx context.Context, m *budget.Meter) (Document, error) { return fromJSON(ctx, m, data) }
	case HTML:
		convert = func(ctx context.Context, m *budget.Meter) (Document, error) {
			return fromHTML(ctx, m, nil, data, false)
		}
	case PDF:
		convert = func(ctx context.Context, m *budget.Meter) (Document, error) { return fromPDF(ctx, m, data) }
	default:
		return Document{}, fmt.Errorf("%w: %.40q: use %s", ErrKind, string(kind), supported)
	}
	return budgeted(ctx, name, len(data), convert)
}

// Page converts the main text of a web page, without navigation, footers and the like. If no main
// text is found, the whole page is converted. Relative links are resolved against base, which may
// be nil, and appears in errors. Only links to http, https and mailto are kept.
//
// It fails with the same errors as Convert.
func Page(ctx context.Context, base *url.URL, data []byte) (Document, error) {
	name := "page"
	if base != nil {
		name = base.Redacted()
	}
	return budgeted(ctx, name, len(data), func(ctx context.Context, m *budget.Meter) (Document, error) {
		return fromHTML(ctx, m, base, data, true)
	})
}

// perByte is about the least memory that a conversion holds for each byte of its file.
const perByte = 6

// budgeted runs a conversion within the budget of the process, and checks and completes its result.
func budgeted(
	ctx context.Context, name string, size int, convert func(context.Context, *budget.Meter) (Document, error),
) (doc Document, err error) {
	err = budget.Shared.Convert(ctx, size, perByte*int64(size), func(ctx context.Context, m *budget.Meter) error {
		var err error
		doc, err = convert(ctx, m)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return Document{}, ctx.Err()
	case errors.Is(err, ErrOverloaded):
		return Document{}, fmt.Errorf("%s waits for the conversion of other files: %w", oneLine(name, 200), err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("its conversion takes longer than %v; divide the file", budget.Time(size))
	case errors.Is(err, budget.ErrMemory), errors.Is(err, budget.ErrWork):
		err = fmt.Errorf("it %w; divide the file, or convert it to text first", err)
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
	first := printable.First(s, limit)
	if i := strings.LastIndexByte(first, ' '); i > 0 && first != s && s[len(first)] != ' ' {
		first = first[:i]
	}
	return strings.TrimRight(first, " ")
}
