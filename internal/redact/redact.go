// Package redact removes secrets from the text of other programs, such as a server that echoes a
// request's headers, before the text is shown or stored.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Secret is a value that must not be shown, and the name to show in its place.
type Secret struct{ Name, Value string }

// Token is the secret of a request. Its mark is [token].
func Token(value string) Secret { return Secret{"token", value} }

// mark returns the replacement of a secret.
func (s Secret) mark() string { return "[" + s.Name + "]" }

// Redactor replaces secrets, literally and as JSON, URLs, quoted Go strings and base64 encode them.
// It is safe for concurrent use. A nil *Redactor replaces nothing.
type Redactor struct {
	forms  map[byte][]form // by the first byte, the longest first
	longer int             // length of the longest form
	skips
}

// form is one way to write a secret.
type form struct{ text, mark string }

// New returns a Redactor of the secrets, nil if there are none. Where two begin at the same
// position, the longer one is replaced. Empty secrets are ignored.
func New(secrets ...Secret) *Redactor {
	r := &Redactor{forms: map[byte][]form{}}
	known := map[string]bool{"": true}
	var texts []string
	for _, s := range secrets {
		for _, text := range spellings(s.Value) {
			if !known[text] {
				known[text] = true
				texts = append(texts, text)
				r.forms[text[0]] = append(r.forms[text[0]], form{text, s.mark()})
				r.longer = max(r.longer, len(text))
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	for _, forms := range r.forms {
		slices.SortStableFunc(forms, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	r.skips = newSkips(texts)
	return r
}

// spellings returns the ways to write a secret.
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
	return append(forms, inBase64(s)...)
}

// shortest is the length of the shortest secret that is looked for in base64. The text of a shorter
// one may be there for other reasons.
const shortest = 8

// inBase64 returns the part of a base64 text that a secret determines, whatever is before and after
// it, as in the header of a user with a password. There is one for each position of the secret in
// the three bytes that four characters encode.
func inBase64(s string) (forms []string) {
	if len(s) < shortest {
		return nil
	}
	for before := range 3 {
		data := append(make([]byte, before), s...)
		from, to := (before*8+5)/6, len(data)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(data)[from:to]
			forms = append(forms, text, strings.ReplaceAll(text, "/", `\/`), url.QueryEscape(text))
		}
	}
	return forms
}

// Text returns s with the secrets replaced.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	start, end, mark := find(r, s, 0)
	if mark == "" {
		return s
	}
	var out strings.Builder
	pos := 0
	for mark != "" {
		out.WriteString(s[pos:start])
		out.WriteString(mark)
		pos = end
		start, end, mark = find(r, s, pos)
	}
	out.WriteString(s[pos:])
	return out.String()
}

// Error returns err with the secrets in its text replaced.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return &redactedError{err, text}
	}
	return err
}

// redactedError is an error with another text.
type redactedError struct {
	err  error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// Reader returns a reader of src with the secrets replaced, wherever reads split them. It holds
// back only bytes that may be the beginning of a secret.
func (r *Redactor) Reader(src io.Reader) io.Reader {
	if r == nil {
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
		data := into[:n+more]
		out, end := d.r.replace(data, err != nil)
		d.held, d.err = append(d.held[:0], data[end:]...), err
		switch {
		case out != nil:
			d.ready = out
		case direct && end > 0:
			return end, nil // it is in p
		case !direct:
			d.ready = data[:end]
		}
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	return n, nil
}

// replace replaces the secrets in data up to end. The rest may begin a secret, unless data is the
// last. out is nil if there is no secret.
func (r *Redactor) replace(data []byte, last bool) (out []byte, end int) {
	for pos := 0; ; {
		held := len(data)
		if !last {
			held = r.heldFrom(data, pos)
		}
		start, after, mark := find(r, data, pos)
		if mark == "" || held <= start {
			if out != nil {
				out = append(out, data[pos:held]...)
			}
			return out, held
		}
		out = append(append(out, data[pos:start]...), mark...)
		pos = after
	}
}

// heldFrom returns the first position from pos on from which the rest of data may begin a secret.
func (r *Redactor) heldFrom(data []byte, pos int) int {
	for i := max(pos, len(data)-r.longer+1); i < len(data); i++ {
		for _, f := range r.forms[data[i]] {
			if len(f.text) > len(data)-i && f.text[:len(data)-i] == string(data[i:]) {
				return i
			}
		}
	}
	return len(data)
}
