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
	// URL is the endpoint without credentials and query. It is empty for provider "fake".
	URL   string
	Model string
	// Status is the HTTP status of a rejected request, or the error status that an answer with a
	// good status states. It is 0 if there was no response, or an unusable answer.
	Status int
	// Message is the text of the provider or of the transport: at most 500 bytes, with control
	// characters escaped and the API key removed.
	Message string
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Billed is true if the request may have been charged although no answer was received: after a
	// cut stream, silence or a timeout after sending, a gateway's 5xx, a body that could not be
	// read, or an error whose body counts tokens. It is false for a rejected request and for a
	// connection that was never established.
	Billed bool

	// transient marks failures that are worth another attempt. waitAsked is set if the provider
	// sent a Retry-After, which may be 0.
	transient bool
	waitAsked bool
	// said has the details that the provider gave in the body, and gaveUp why no further attempt
	// was made.
	said   refusal
	gaveUp string
	// timedOut is set if Request.Timeout ended the attempt.
	timedOut bool
	// keyVariable is the environment variable that contains the key, if that is known.
	keyVariable string
}

// Error names the provider and the endpoint, and says what happened and what to do.
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
	if e.gaveUp != "" {
		b.WriteString("; " + e.gaveUp)
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

func quote(s string) string { return strconv.Quote(escaped(s)) }

// escaped returns foreign text as one line for an error message: control characters are escaped,
// and it is cut at maxMessage bytes.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		piece := string(r)
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > maxMessage-len("…") {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
