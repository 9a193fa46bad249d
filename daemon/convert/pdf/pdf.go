// Package pdf reads the text of PDF files: paragraphs, in the order in which pages draw them.
//
// Files come from strangers. The structure of a file is read by pdfcpu, within limits. What the
// pages draw is interpreted only as far as text needs it.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// ErrNoText is a PDF that can be read but has no text.
var ErrNoText = errors.New("the PDF has no text layer: it may be a scan, which needs text recognition first")

// ErrPassword is a PDF that needs a password.
var ErrPassword = errors.New("the PDF is encrypted and needs a password")

const (
	maxStream  = 64 << 20  // bytes of a decoded stream
	maxStreams = 256 << 20 // bytes of all decoded streams, each time that one is drawn
	minStream  = 4 << 10   // bytes that a stream counts at least, so that their number is bounded
	maxText    = 64 << 20  // bytes of text
	maxPages   = 100_000
	maxLevels  = 64 // of the page tree, and of what a page draws
)

var (
	errTooLarge = errors.New("the PDF is too large")
	errPage     = errors.New("the PDF is damaged: a page cannot be read")
)

// Document is the text of a PDF.
type Document struct {
	Title  string // of the properties of the file; it may be empty
	Blocks []Block
}

// Block is a paragraph or a heading.
type Block struct {
	// Lines are the lines that end before the right edge of the text, as those of addresses and
	// lists do. Other line breaks are spaces.
	Lines []string
	// Level is 1 to 3 for a heading, by its size, and 0 for other text.
	Level int
}

// reader reads a file.
type reader struct {
	ctx      context.Context
	file     *model.XRefTable
	fonts    map[int]*textFont // by object number
	defaults types.Dict        // resources of the fields of forms
	decoded  int               // bytes of streams so far
	err      error             // ends the reading
}

// Read reads a PDF. An encrypted file must have an empty user password.
//
// The errors are ErrNoText, ErrPassword, that of ctx, or one that says why the file cannot be read.
func Read(ctx context.Context, data []byte) (doc Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the PDF is damaged: %v", p)
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return Document{}, errors.New("it is not a PDF: it does not begin with %PDF-")
	}
	file, err := open(ctx, data)
	if err != nil {
		return Document{}, err
	}
	r := &reader{ctx: ctx, file: file.XRefTable, fonts: map[int]*textFont{}}
	pages := r.pages()
	if r.err != nil {
		return Document{}, r.err
	}
	doc.Title = r.title()
	doc.Blocks = blocks(pages)
	if len(pages) == 0 {
		return Document{}, errPage
	}
	if len(doc.Blocks) == 0 {
		return Document{}, ErrNoText
	}
	return doc, nil
}

// open reads the objects of a file.
func open(ctx context.Context, data []byte) (*model.Context, error) {
	// Object streams are decoded together, so they share a limit.
	const maxObjectStreams, shared = 4096, 1 << 30
	streams := bytes.Count(data, []byte("ObjStm"))
	if streams > maxObjectStreams {
		return nil, errTooLarge
	}
	limits := model.DefaultResourceLimits()
	limits.MaxStreamBytes = int64(len(data))
	limits.MaxDecodeBytes = min(shared/int64(max(streams, 1)), 16<<20)
	// An object needs some bytes, and an entry of a compressed table less than one.
	limits.MaxObjectCount = len(data)
	limits.MaxXRefEntries = len(data)
	file, err := pdfcpu.ReadWithContext(ctx, bytes.NewReader(data), &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Limits:         limits,
		Offline:        true,
	})
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return nil, ErrPassword
	case err != nil:
		return nil, fmt.Errorf("the PDF is damaged: %w", err)
	}
	return file, nil
}

func (r *reader) title() string {
	if r.file.Info == nil {
		return ""
	}
	title, err := r.file.DereferenceText(r.dict(*r.file.Info)["Title"])
	if err != nil {
		return ""
	}
	title = strings.TrimSpace(title)
	switch strings.ToLower(title) {
	case "untitled", "(anonymous)", "(unspecified)":
		return "" // what programs write if there is none
	}
	return title
}

// pages returns the lines of every page.
func (r *reader) pages() [][]line {
	root := r.dict(*r.file.Root)
	r.defaults = r.dict(r.dict(root["AcroForm"])["DR"])
	var (
		pages [][]line
		size  int
		seen  = map[int]bool{}
		walk  func(o types.Object, resources types.Object, level int)
	)
	walk = func(o types.Object, resources types.Object, level int) {
		if ref, ok := o.(types.IndirectRef); ok {
			if seen[ref.ObjectNumber.Value()] {
				return
			}
			seen[ref.ObjectNumber.Value()] = true
		}
		node := r.dict(o)
		if node == nil {
			r.fail(errPage)
		}
		if r.err != nil || level > maxLevels {
			return
		}
		if own := node["Resources"]; own != nil {
			resources = own
		}
		if kids := r.array(node["Kids"]); kids != nil {
			for _, kid := range kids {
				walk(kid, resources, level+1)
			}
			return
		}
		page := r.page(node, r.dict(resources))
		for _, line := range page {
			size += len(line.text)
		}
		if pages = append(pages, page); len(pages) > maxPages || size > maxText {
			r.fail(errTooLarge)
		}
	}
	walk(root["Pages"], nil, 0)
	return pages
}

// page returns the lines of a page.
func (r *reader) page(page, resources types.Dict) []line {
	var content []byte
	if parts := r.array(page["Contents"]); parts != nil {
		for _, part := range parts {
			content = append(append(content, r.content(part)...), '\n')
			if len(content) > maxStreams {
				r.fail(errTooLarge)
				return nil
			}
		}
	} else {
		content = r.content(page["Contents"])
	}
	d := drawer{r: r, state: newState()}
	d.draw(content, resources, 0)
	// The fields of forms show what was filled in.
	for _, o := range r.array(page["Annots"]) {
		d.annotation(r.dict(o))
	}
	return d.layout.finish()
}

// content returns the decoded content of a page, or of a part of it. Without it, the text of the
// page would be missing from the document, and nobody would see that.
func (r *reader) content(o types.Object) []byte {
	if o == nil {
		return nil // an empty page
	}
	data, ok := r.decode(o)
	if !ok {
		r.fail(errPage)
	}
	return data
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// The following methods return an object of a type, or its zero value if it is of another type or
// does not exist: damaged parts of a file are left out, except pages and their content.

func (r *reader) get(o types.Object) types.Object {
	// A reference may lead to another one.
	for range 8 {
		ref, ok := o.(types.IndirectRef)
		if !ok {
			return o
		}
		var err error
		if o, err = r.file.Dereference(ref); err != nil {
			return nil
		}
	}
	return nil
}

func (r *reader) dict(o types.Object) types.Dict {
	switch d := r.get(o).(type) {
	case types.Dict:
		return d
	case types.StreamDict:
		return d.Dict
	}
	return nil
}

func (r *reader) array(o types.Object) types.Array {
	a, _ := r.get(o).(types.Array)
	return a
}

func (r *reader) name(o types.Object) string {
	n, _ := r.get(o).(types.Name)
	return string(unescapeName([]byte(n)))
}

func (r *reader) number(o types.Object) (float64, bool) {
	switch n := r.get(o).(type) {
	case types.Integer:
		return float64(n), true
	case types.Float:
		return float64(n), true
	}
	return 0, false
}

// numbers returns the numbers in an array.
func (r *reader) numbers(o types.Object) []float64 {
	var out []float64
	for _, o := range r.array(o) {
		if n, ok := r.number(o); ok && len(out) < 16 {
			out = append(out, n)
		}
	}
	return out
}

// stream returns the decoded content of a stream.
func (r *reader) stream(o types.Object) []byte {
	data, _ := r.decode(o)
	return data
}

// decode returns the decoded content of a stream, and whether o is one that can be decoded.
func (r *reader) decode(o types.Object) ([]byte, bool) {
	s, ok := r.get(o).(types.StreamDict)
	if !ok || r.err != nil {
		return nil, false
	}
	if err := r.ctx.Err(); err != nil {
		r.fail(err)
		return nil, false
	}
	if s.Content == nil {
		if err := s.DecodeWithLimit(maxStream); err != nil {
			return nil, false
		}
	}
	if r.decoded += len(s.Content) + minStream; r.decoded > maxStreams {
		r.fail(errTooLarge)
		return nil, false
	}
	return s.Content, true
}
