// Package pdf reads the text of PDF files: paragraphs, in the order in which pages draw them.
//
// Files come from strangers. pdfcpu reads the structure of a file, within limits. Drawing operators
// are interpreted only as far as text needs it.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/filter"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"evalctl/daemon/convert/budget"
)

// ErrNoText means that a PDF can be read but has no text.
var ErrNoText = errors.New("the PDF has no text layer: it may be a scan, which needs text recognition first")

// ErrPassword means that a PDF needs a password.
var ErrPassword = errors.New("the PDF is encrypted and needs a password")

const (
	maxPages  = 100_000
	maxLevels = 64 // of the page tree, and of what a page draws
	// perLine and perText are the memory for a line and for a byte of its text until the file is
	// converted, in bytes: the line, its block, and the Markdown, which grows to twice its size.
	perLine, perText = 200, 5
	// perOperator and perGlyph are steps.
	perOperator, perGlyph, perStream = 16, 64, 4 << 10
)

var (
	errPages = fmt.Errorf("the PDF has more than %d pages", maxPages)
	errPage  = errors.New("the PDF is damaged: a page cannot be read")
)

// Document is the text of a PDF.
type Document struct {
	Title  string // of the properties of the file; it may be empty
	Blocks []Block
}

// Block is a paragraph or a heading.
type Block struct {
	// Lines are the lines that end before the right edge of the text, as in addresses and lists.
	// Other line breaks are spaces.
	Lines []string
	// Level is 1 to 3 for a heading, by its size, and 0 for other text.
	Level int
}

// reader reads a file.
type reader struct {
	ctx      context.Context
	meter    *budget.Meter
	file     *model.XRefTable
	fonts    map[uintptr]*textFont // by the dictionary of the font
	opened   map[int]bool          // streams of objects, by their number
	form     types.Dict            // the interactive form
	defaults types.Dict            // resources of its fields
	// needsAppearances says that the appearances of fields are to be made from their values.
	needsAppearances bool
	err              error // ends the reading
}

// Read reads a PDF. An encrypted file must have an empty user password.
//
// The errors are ErrNoText, ErrPassword, an error of the meter, or one that says why the file
// cannot be read.
func Read(ctx context.Context, m *budget.Meter, data []byte) (doc Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the PDF is damaged: %v", p)
		}
		// pdfcpu leaves out the parts that it cannot or may not read.
		if limit := m.Err(); limit != nil {
			err = limit
		}
	}()
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return Document{}, errors.New("it is not a PDF: it does not begin with %PDF-")
	}
	file, err := open(ctx, m, data)
	if err != nil {
		return Document{}, err
	}
	r := &reader{ctx: ctx, meter: m, file: file.XRefTable, fonts: map[uintptr]*textFont{}, opened: map[int]bool{}}
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
func open(ctx context.Context, m *budget.Meter, data []byte) (*model.Context, error) {
	// An entry of the table takes some 400 bytes with its object.
	const entry = 400
	limits := model.DefaultResourceLimits()
	limits.MaxStreamBytes = int64(len(data))
	limits.MaxDecodeBytes = maxObjects(m)
	limits.MaxObjectStreamFirst = 1 << 20 // source counts them
	limits.MaxObjectCount = int(m.Memory() / entry)
	limits.MaxXRefEntries = limits.MaxObjectCount
	file, err := pdfcpu.ReadWithContext(ctx, newSource(m, data), &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Limits:         limits,
		Offline:        true,
	})
	switch {
	case errors.Is(err, filter.ErrDecodeLimitExceeded):
		return nil, m.Hold(m.Memory() + 1)
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return nil, ErrPassword
	case err != nil:
		return nil, fmt.Errorf("the PDF is damaged: %w", err)
	}
	return file, nil
}

// maxObjects returns how many bytes a stream of objects may have, so that all of them may be
// parsed.
func maxObjects(m *budget.Meter) int64 { return max(m.Memory()/32, 1<<20) }

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
	r.form = r.dict(root["AcroForm"])
	r.defaults = r.dict(r.form["DR"])
	needs, _ := r.get(r.form["NeedAppearances"]).(types.Boolean)
	r.needsAppearances = bool(needs)
	var (
		pages [][]line
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
		if pages = append(pages, r.page(node, r.dict(resources))); len(pages) > maxPages {
			r.fail(errPages)
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
			// Joined, it is held twice until the next part.
			next := r.content(part)
			content = append(append(content, next...), '\n')
			r.fail(r.meter.Step(len(content)))
			r.fail(r.meter.Hold(1))
			if r.err != nil {
				return nil
			}
		}
	} else {
		content = r.content(page["Contents"])
	}
	// The operands of an operator may be a copy of all of it.
	r.fail(r.meter.Hold(int64(len(content))))
	defer r.meter.Release(2 * int64(len(content)))
	d := drawer{r: r, state: newState()}
	d.draw(content, resources, 0)
	// The fields of forms show the values that were filled in.
	for _, o := range r.array(page["Annots"]) {
		d.annotation(r.dict(o))
	}
	return d.layout.finish()
}

// content returns the decoded content of a page, or of a part of it. An unreadable content is an
// error, because otherwise the text would be missing from the document unnoticed.
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

// fail ends the reading if err is not nil.
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
		if !r.afford(ref) {
			return nil
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

// afford counts the memory of an object that is parsed when it is first used, and reports whether
// it may be parsed.
func (r *reader) afford(ref types.IndirectRef) bool {
	if r.err != nil {
		return false
	}
	entry := r.file.Table[ref.ObjectNumber.Value()]
	if entry == nil || entry.ObjectStream == nil {
		return true
	}
	lazy, ok := entry.Object.(types.LazyObjectStreamObject)
	if !ok {
		return true // parsed before
	}
	if number := *entry.ObjectStream; !r.opened[number] {
		r.opened[number] = true
		if of := r.file.Table[number]; of != nil {
			if s, ok := of.Object.(types.ObjectStreamDict); ok {
				r.measure(s.StreamDict)
			}
		}
	}
	if r.err != nil {
		return false
	}
	if text, err := lazy.GetData(); err == nil {
		r.fail(r.meter.Hold(objectCost(text)))
		r.fail(r.meter.Step(16 * len(text)))
	}
	return r.err == nil
}

// measure counts the decoded content of a stream of objects, which pdfcpu decodes again and keeps.
func (r *reader) measure(s types.StreamDict) {
	limit := maxObjects(r.meter)
	data, err := decodeStream(r.meter, &s)
	switch {
	case r.meter.Err() != nil:
		r.fail(r.meter.Err())
	case err == nil && int64(len(data)) > limit:
		r.fail(r.meter.Hold(r.meter.Memory() + 1))
	}
}

// stream returns the decoded content of a stream. The caller releases it.
func (r *reader) stream(o types.Object) []byte {
	data, _ := r.decode(o)
	return data
}

// release ends the use of a result of stream.
func (r *reader) release(data []byte) { r.meter.Release(int64(len(data))) }

// decode returns the decoded content of a stream. ok is false if o cannot be decoded. The caller
// releases the content.
func (r *reader) decode(o types.Object) ([]byte, bool) {
	s, ok := r.get(o).(types.StreamDict)
	if !ok || r.err != nil {
		return nil, false
	}
	r.fail(r.meter.Step(perStream))
	data, err := decodeStream(r.meter, &s)
	if r.meter.Err() != nil {
		r.fail(r.meter.Err())
		return nil, false
	}
	return data, err == nil
}
