package conformance

import (
	"encoding/json"
	"evalctl/internal/printable"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// The parts of bodies that are kept as evidence, in bytes.
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

// exchange returns the beginning of an exchange.
func (d *target) exchange(r request, brain string) *exchange {
	x := &exchange{route: r.method + " " + routeOf(r), line: r.method + " " + d.urlPath(r, brain), header: r.header}
	if token := d.tokenFor(r); token != "" {
		x.header = append([][2]string{{"Authorization", "Bearer " + token}}, x.header...)
	}
	if r.body != nil {
		x.body = *r.body
	}
	if x.same = x.route; !r.atRoot { // other bodies have names of their own
		x.same = strings.Join([]string{r.method, r.path, r.query, x.body}, " ")
	}
	if names := optionsOf(r); len(names) > 0 {
		x.options = " with " + strings.Join(names, ", ")
	}
	return x
}

// shownHeaders are the headers of a response that checks are about.
var shownHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "ETag", "Allow", "Location", "Retry-After", "Www-Authenticate",
}

// answered returns the exchange with its response.
func (x *exchange) answered(res *response) *exchange {
	done := *x
	done.answer = &answer{status: res.status, line: strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.status, http.StatusText(res.status))),
		body: res.body}
	for _, name := range shownHeaders {
		for _, value := range res.header.Values(name) {
			done.answer.header = append(done.answer.header, [2]string{name, value})
		}
	}
	return &done
}

// changes reports whether the request changed something.
func (x *exchange) changes() bool {
	method, route, _ := strings.Cut(x.route, " ")
	return x.answer != nil && x.answer.status/100 == 2 && method != http.MethodGet && method != http.MethodHead &&
		!strings.HasSuffix(route, "/search") && !strings.HasSuffix(route, "/ask") && !strings.HasSuffix(route, "/recall")
}

// toolExchange returns the exchange of a call of a tool. reply may be nil.
func toolExchange(tool string, args object, reply *reply) *exchange {
	x := &exchange{route: tool, line: "tools/call " + tool}
	if args != nil {
		x.body = string(encode(args))
	}
	if reply != nil {
		x.answer = &answer{line: reply.outcome(), body: reply.Structured}
		if reply.isError() || len(reply.Structured) == 0 {
			x.answer.body = []byte(reply.String())
		}
	}
	return x
}

// optionsOf returns the names of the parameters of a query, and of the keys of a search or an ask,
// without those that say what is asked for and those that have their default.
func optionsOf(r request) []string {
	names := map[string]bool{}
	values, _ := url.ParseQuery(r.query) // a malformed query has no names
	for name := range values {
		if value := values.Get(name); value != "" && value != "false" && name != "recursive" {
			names[name] = true
		}
	}
	if r.body != nil && (r.path == "/search" || r.path == "/ask" || strings.HasSuffix(r.path, "/recall")) {
		var o object
		_ = json.Unmarshal([]byte(*r.body), &o) // a malformed body has no keys
		for name, value := range o {
			filters, isObject := value.(object)
			for inner := range filters {
				names[name+"."+inner] = true
			}
			if !isObject {
				names[name] = true
			}
		}
	}
	for _, name := range []string{"path", "q", "query", "question", "top_k", "topK"} {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

// words are the segments of paths that are not ids.
var words = []string{
	"v1", "v99", "brains", "documents", "read", "stat", "append", "rename", "batch-ops", "events", "search", "ask", "sessions",
	"messages", "recall", "reflect", "ingest", "file", "url", "jobs", "healthz", "no-such-endpoint",
}

// routeOf returns the path of a request with {id} in the place of ids, without its query.
func routeOf(r request) string {
	p, _, _ := strings.Cut(r.path, "?")
	if rest, ok := strings.CutPrefix(p, "/v1/brains/"); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			p = "/" + below
		}
	}
	if p == "" {
		return "/v1/brains/{id}"
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if part != "" && !slices.Contains(words, part) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
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

// evidenceText lays a message out as HTTP does. It redacts first: what is cut could be a part of a
// token.
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

// shown returns a text without tokens and with escapes for what is not printable, cut after most
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
