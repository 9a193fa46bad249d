package llm

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const maxMessage = 500

// Error is a call that failed at the provider or on the way to it.
type Error struct {
	Provider string
	// URL is the endpoint without credentials and query; empty offline.
	URL   string
	Model string
	// Status is the HTTP status of a refusal. It is 0 when none came, and when
	// the answer began well but could not be used.
	Status int
	// Message is the provider's own text or the transport's, at most 500 bytes,
	// control characters escaped, the API key taken out.
	Message string
	// RetryAfter is how long the provider asked to wait, 0 when it did not say.
	RetryAfter time.Duration
	// Billed is true when the request may have been charged although no answer
	// came back: a cut stream, silence after sending, a gateway's 5xx, a body
	// that could not be read. It is false for a refusal and for a connection
	// that was never made.
	Billed bool

	// transient marks failures worth another attempt; waitAsked that the
	// provider sent a Retry-After, which may be 0.
	transient bool
	waitAsked bool
	// keyVariable is where the key comes from, if that is known.
	keyVariable string
}

// Error names the provider, the endpoint, what it said and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.URL != "" {
		b.WriteString(" " + e.URL)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if hint := e.hint(); hint != "" {
		b.WriteString("; " + hint)
	}
	return b.String()
}

func (e *Error) hint() string {
	switch {
	case e.keyVariable != "" && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		if e.Model == "" {
			return "check " + e.keyVariable
		}
		return "check " + e.keyVariable + ", and that this key may use model " + quote(e.Model)
	case e.Status == http.StatusNotFound:
		return "check the model name " + quote(e.Model) + " and the base URL"
	case e.RetryAfter > 0:
		return "the provider asks to wait " + e.RetryAfter.String()
	}
	return ""
}

func quote(s string) string { return strconv.Quote(printable(s)) }

// bounded makes foreign text fit for one line of an error: control characters
// escaped, at most maxMessage bytes.
func printable(s string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		piece := string(r)
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > maxMessage-len("...") {
			b.WriteString("...")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
