// Package redact removes secrets from text that another program sends, such as a server that echoes
// a request's headers, before the text is shown or stored.
package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// mark replaces a secret.
const mark = "[token]"

// Redactor replaces secrets, both literally and as JSON, URLs and quoted Go strings encode them. It
// is safe for concurrent use. A nil *Redactor replaces nothing.
type Redactor struct {
	forms    [][]byte
	replacer *strings.Replacer
}

// New returns a Redactor of the secrets. Where two of them begin at the same position, the one that
// was given first is replaced. Empty secrets are ignored.
func New(secrets ...string) *Redactor {
	var all, pairs []string
	for _, s := range secrets {
		for _, form := range spellings(s) {
			if form != "" && !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	r := &Redactor{}
	for _, form := range all {
		pairs = append(pairs, form, mark)
		r.forms = append(r.forms, []byte(form))
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

func spellings(s string) []string {
	quoted, _ := json.Marshal(s) // strings always encode
	forms := []string{
		s, string(quoted[1 : len(quoted)-1]), strings.ReplaceAll(s, "/", `\/`),
		url.QueryEscape(s), url.PathEscape(s),
	}
	for _, form := range slices.Clone(forms) {
		q := strconv.Quote(form)
		forms = append(forms, q[1:len(q)-1])
	}
	return forms
}

// Text returns s with the secrets replaced.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Reader returns a reader of src with the secrets replaced, wherever reads split them. It holds
// back only bytes that may be the beginning of a secret.
func (r *Redactor) Reader(src io.Reader) io.Reader {
	if r == nil || len(r.forms) == 0 {
		return src
	}
	return &reader{r: r, src: src}
}

type reader struct {
	r     *Redactor
	src   io.Reader
	held  []byte // was read, and may begin a secret
	ready []byte // can be returned
	err   error  // of src, after all data was returned
}

func (d *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(d.ready) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		into, direct := p, len(p) >= 2*len(d.held)+64
		if !direct {
			into = make([]byte, 2*len(d.held)+512)
		}
		n := copy(into, d.held)
		more, err := d.src.Read(into[n:])
		data, changed := d.r.replace(into[:n+more])
		end := len(data)
		if d.err = err; err == nil {
			end -= d.r.heldBack(data)
		}
		d.held = append(d.held[:0], data[end:]...)
		if direct && !changed && end > 0 {
			return end, nil // it is in p
		}
		if changed || !direct {
			d.ready = data[:end]
		}
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	return n, nil
}

func (r *Redactor) replace(data []byte) (out []byte, changed bool) {
	if !slices.ContainsFunc(r.forms, func(form []byte) bool { return bytes.Contains(data, form) }) {
		return data, false
	}
	return []byte(r.replacer.Replace(string(data))), true
}

// heldBack returns how many bytes at the end of data may begin a secret.
func (r *Redactor) heldBack(data []byte) int {
	most := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(data)); n > most; n-- {
			if bytes.HasSuffix(data, form[:n]) {
				most = n
			}
		}
	}
	return most
}
