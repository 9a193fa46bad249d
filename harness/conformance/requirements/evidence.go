package requirements

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"unicode"

	"evalctl/internal/printable"
)

// Limits on the parts of messages kept as evidence, in bytes.
const (
	requestBytes  = 1 << 10
	responseBytes = 2 << 10
	lineBytes     = 1 << 10 // of a request line, and of a header
)

// exchange is a request and its response: the evidence of a check.
type exchange struct {
	route   string // as causes name it, such as "GET /documents/read"
	options string // the names of the options of the request, such as " with glob"
	line    string // method and path, or the tool
	header  [][2]string
	body    string
	answer  *answer // nil without a response
	same    string  // equal for the same request of another run of the check
}

// answer is a response, from a daemon or from a tool.
type answer struct {
	status int // 0 for a tool
	line   string
	header [][2]string
	body   []byte
}

// changes reports whether the request changed something.
func (x *exchange) changes() bool {
	method, route, _ := strings.Cut(x.route, " ")
	return x.answer != nil && x.answer.status/100 == 2 && method != http.MethodGet && method != http.MethodHead &&
		!strings.HasSuffix(route, "/search") && !strings.HasSuffix(route, "/ask") && !strings.HasSuffix(route, "/recall")
}

// requestText returns the request for the report.
func (x *exchange) requestText(redacted func(string) string) string {
	return evidenceText(x.line, x.header, x.body, requestBytes, redacted)
}

// responseText returns the response for the report, or "" if there was none.
func (x *exchange) responseText(redacted func(string) string) string {
	if x.answer == nil {
		return ""
	}
	return evidenceText(x.answer.line, x.answer.header, string(printable.Prefix(x.answer.body, 2*responseBytes)), responseBytes, redacted)
}

// evidenceText formats a message like HTTP. It redacts before cutting, because a cut could leave
// part of a token.
func evidenceText(line string, header [][2]string, body string, most int, redacted func(string) string) string {
	var b strings.Builder
	b.WriteString(shown(line, lineBytes, redacted))
	for _, h := range header {
		fmt.Fprintf(&b, "\n%s: %s", h[0], shown(h[1], lineBytes, redacted))
	}
	if body != "" {
		b.WriteString("\n\n" + shown(body, most, redacted))
	}
	return b.String()
}

// shown returns a text with tokens redacted and unprintable characters escaped, cut after most
// bytes.
func shown(text string, most int, redacted func(string) string) string {
	const slack = 1 << 10 // a token that crosses the end is redacted as a whole
	whole := len(text)
	text = redacted(printable.Prefix(text, most+slack))
	isCut := whole > most+slack || len(text) > most
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(printable.Prefix(text, most), "\ufffd") {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	if isCut {
		fmt.Fprintf(&b, "… (%d bytes)", whole)
	}
	return b.String()
}

// routes counts the statuses returned by each route. It is safe for concurrent use.
type routes struct {
	mu       sync.Mutex
	statuses map[string]map[int]int
	strays   []*exchange
}

func (r *routes) count(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.statuses[x.route] == nil {
		r.statuses[x.route] = map[int]int{}
	}
	r.statuses[x.route][x.answer.status]++
}

// strayed records failures outside of checks after which the same request succeeded.
func (r *routes) strayed(failed []*exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range failed {
		if x.answer.status >= 500 { // else it was the rate limit
			r.strays = append(r.strays, x)
		}
	}
}
