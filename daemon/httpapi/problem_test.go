package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/admission"
	"evalctl/internal/llm"
)

func TestOutcomes(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "journal", Err: syscall.ENOSPC}
	tests := []struct {
		err       error
		status    int
		code      string
		retryable bool
		hidden    bool
	}{
		{requestErrorf(errInvalid, "x"), 400, "validation_error", false, false},
		{&brain.ArgumentError{Name: "top_k", Reason: "x"}, 400, "validation_error", false, false},
		{&memory.ArgumentError{Name: "top_k", Reason: "x"}, 400, "validation_error", false, false},
		{&store.Error{Op: "write", Path: "/a", Err: store.ErrInvalidPath}, 400, "validation_error", false, false},
		{requestErrorf(errUnauthorized, "x"), 401, "unauthorized", false, false},
		{requestErrorf(errForbidden, "x"), 403, "forbidden", false, false},
		{requestErrorf(errRateLimited, "x"), 429, "rate_limited", true, false},
		{requestErrorf(errCrossOrigin, "x"), 403, "forbidden", false, false},
		{requestErrorf(errForeignHost, "x"), 403, "forbidden", false, false},
		{requestErrorf(errNoRoute, "x"), 404, "not_found", false, false},
		{brain.ErrNotFound, 404, "not_found", false, false},
		{&store.Error{Op: "read", Path: "a", Err: store.ErrNotFound}, 404, "not_found", false, false},
		{requestErrorf(errMethod, "x"), 405, "method_not_allowed", false, false},
		{requestErrorf(errDeadline, "x"), 504, "timeout", true, false},
		{brain.ErrExists, 409, "conflict", false, false},
		{&store.Error{Op: "batch", Err: store.ErrConflict}, 409, "conflict", false, false},
		{tooLarge(1), 413, "payload_too_large", false, false},
		{memory.ErrFileTooLarge, 413, "file_too_large", false, false},
		{memory.ErrKind, 415, "unsupported_media_type", false, false},
		{requestErrorf(errMediaType, "x"), 415, "unsupported_media_type", false, false},
		{requestErrorf(errUnconfirmed, "x"), 428, "confirmation_required", false, false},
		{&llm.Error{Status: 429}, 429, "rate_limited", true, false},
		{context.Canceled, 500, "internal_error", false, true},
		{&llm.Error{Status: 0}, 502, "bad_gateway", true, false},
		{&llm.Error{Status: 503}, 502, "bad_gateway", true, false},
		{&llm.Error{Status: 401}, 502, "bad_gateway", false, false},
		{fmt.Errorf("%w: %w", brain.ErrSearchModel, brain.ErrSearchSlow), 502, "bad_gateway", true, false},
		{brain.ErrSearchModel, 502, "bad_gateway", true, true},
		{fmt.Errorf("%w: %w", brain.ErrSearchModel, &llm.Error{Status: 401}), 502, "bad_gateway", false, false},
		{memory.ErrUpstream, 502, "bad_gateway", true, false},
		{memory.ErrReaderStopped, 502, "bad_gateway", false, false},
		{memory.ErrReply, 502, "bad_gateway", true, false},
		{memory.ErrReaderSilent, 502, "bad_gateway", true, false},
		{admission.ErrOverloaded, 503, "overloaded", true, false},
		{&brain.UnreadyError{Brain: "a"}, 503, "indexing", true, false},
		{errShuttingDown, 503, "shutting_down", true, false},
		{brain.ErrClosed, 503, "shutting_down", true, false},
		{&store.Error{Op: "write", Path: "a", Err: full}, 507, "insufficient_storage", false, true},
		{&store.Error{Op: "write", Path: "a", Err: fmt.Errorf("%w: an earlier commit failed: %w", store.ErrReadOnly, full)}, 507, "insufficient_storage", false, true},
		{fmt.Errorf("%w: %w", brain.ErrOpen, &fs.PathError{Op: "open", Path: "lock", Err: syscall.EROFS}), 503, "read_only", false, true},
		{&store.Error{Op: "write", Path: "a", Err: store.ErrReadOnly}, 503, "read_only", true, false},
		{context.DeadlineExceeded, 504, "timeout", true, false},
		{store.ErrSchemaVersion, 501, "unsupported_schema_version", false, false},
		{&store.UnusableError{Kind: store.ErrDamaged, Cause: &brain.ArgumentError{Name: "slug"}}, 503, "brain_unavailable", false, false},
		{store.Unavailable(os.ErrDeadlineExceeded, "try again"), 503, "store_unavailable", true, false},
		{&store.UnusableError{Kind: store.ErrLocked, Cause: os.ErrExist}, 503, "brain_locked", true, false},
		{fmt.Errorf("%w a: %w", brain.ErrOpen, store.ErrNotFound), 503, "brain_unavailable", false, true},
		{errors.New("disk on fire"), 500, "internal_error", false, true},
	}
	met := map[string]bool{}
	for _, tt := range tests {
		o := outcomeOf(fmt.Errorf("wrapped: %w", tt.err))
		if o.status != tt.status || o.code != tt.code || o.retryable != tt.retryable || o.hidden != tt.hidden || o.title == "" {
			t.Errorf("%v: got %+v", tt.err, o)
		}
		met[fmt.Sprint(o.status, o.title)] = true
	}
	for _, row := range outcomes {
		if !met[fmt.Sprint(row.status, row.title)] {
			t.Errorf("no test for %d %s", row.status, row.title)
		}
	}
}

// TestRejections sends every kind of bad request to a real server.
func TestRejections(t *testing.T) {
	t.Parallel()
	const (
		docs   = "/v1/brains/eval/documents"
		search = "/v1/brains/eval/search"
		js     = "application/json"
	)
	big := strings.Repeat("x", protocol.MaxWriteBytes+1)
	batch := func(ops string) string { return `{"reason":"r","ops":[` + ops + `]}` }
	manyOps := strings.TrimSuffix(strings.Repeat(`{"type":"write","path":"a","content_base64":""},`, protocol.MaxBatchOps+1), ",")
	half := make([]byte, protocol.MaxBatchBytes/2+1)
	bigOps := fmt.Sprintf(`{"type":"write","path":"a","content_base64":%q},{"type":"write","path":"b","content_base64":%q}`,
		base64.StdEncoding.EncodeToString(half), base64.StdEncoding.EncodeToString(half[1:]))
	tests := []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		code, detail               string
	}{
		{"unknown path", "GET", "/v2/brains", "", nil, 404, "not_found", "no endpoint"},
		{"root", "GET", "/", "", nil, 404, "not_found", "no endpoint"},
		{"wrong method", "PATCH", "/v1/brains", "", nil, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"dot segments", "GET", "/v1/brains/../healthz", "", nil, 404, "not_found", "canonical"},
		{"empty segment", "PUT", "/v1/brains//eval/documents?path=a", "x", []string{"Content-Type", octets}, 404, "not_found", "canonical"},
		{"trailing slash", "GET", "/v1/brains/", "", nil, 404, "not_found", "trailing slash"},
		{"escaped traversal", "GET", "/v1/brains/..%2f../documents?dir=", "", nil, 400, "validation_error", "brain id"},
		{"escaped NUL", "GET", "/v1/brains/a%00", "", nil, 400, "validation_error", "brain id"},
		{"long id", "GET", "/v1/brains/" + strings.Repeat("a", 10_000), "", nil, 400, "validation_error", "1 to 64"},
		{"unknown brain", "GET", "/v1/brains/none/documents?dir=", "", nil, 404, "not_found", "no such brain: none"},

		{"other origin", "PUT", docs + "?path=a", "x", []string{"Content-Type", octets, "Sec-Fetch-Site", "cross-site"}, 403, "forbidden", "origin"},
		{"half a pair in a path", "POST", docs + "/batch-ops", batch(`{"type":"write","path":"a\uD83D","content_base64":""}`), []string{"Content-Type", js}, 400, "validation_error", "op 0: path contains half"},
		{"half a pair in a destination", "POST", docs + "/rename", `{"from":"a","to":"\ud83d\ud83d\ude00"}`, []string{"Content-Type", js}, 400, "validation_error", "to contains half"},
		{"half a pair in a new path", "POST", docs, `{"path":"a\\\ude00","content":"x"}`, []string{"Content-Type", js}, 400, "validation_error", "path contains half"},
		{"no path", "GET", docs + "/read", "", nil, 400, "validation_error", "path is missing"},
		{"empty path", "GET", docs + "/read?path=", "", nil, 400, "validation_error", "empty"},
		{"traversal", "GET", docs + "/read?path=..%2F..%2Fetc%2Fpasswd", "", nil, 400, "validation_error", "dot segment"},
		{"absolute", "PUT", docs + "?path=/etc/passwd", "x", []string{"Content-Type", octets}, 400, "validation_error", "slash"},
		{"NUL", "GET", docs + "/stat?path=a%00b", "", nil, 400, "validation_error", "NUL"},
		{"path twice", "GET", docs + "/read?path=a&path=b", "", nil, 400, "validation_error", "more than once"},
		{"path twice alike", "GET", docs + "/read?path=a&path=a", "", nil, 400, "validation_error", "more than once"},
		{"malformed query", "GET", docs + "/read?path=%zz", "", nil, 400, "validation_error", "malformed"},
		{"semicolon", "GET", docs + "/read?path=a;b", "", nil, 400, "validation_error", "malformed"},
		{"missing document", "GET", docs + "/read?path=none.md", "", nil, 404, "not_found", "read none.md"},
		{"bad flag", "GET", docs + "?recursive=1", "", nil, 400, "validation_error", "recursive"},
		{"bad glob", "GET", docs + "?glob=%5B", "", nil, 400, "validation_error", "list"},
		{"delete without path", "DELETE", docs, "", nil, 400, "validation_error", "path and document_id"},

		{"text as bytes", "PUT", docs + "?path=a", "x", []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type", "text/plain"},
		{"no type", "POST", docs + "/append?path=a", "x", nil, 415, "unsupported_media_type", octets},
		{"form as search", "POST", search, "q=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", js},
		{"rename without type", "POST", docs + "/rename", "{}", nil, 415, "unsupported_media_type", js},
		{"brotli", "PUT", docs + "?path=a", "x", []string{"Content-Type", octets, "Content-Encoding", "br"}, 415, "unsupported_media_type", "gzip"},
		{"too large", "PUT", docs + "?path=a", big, []string{"Content-Type", octets}, 413, "payload_too_large", "2097152"},
		{"too large when unpacked", "PUT", docs + "?path=a", zip(t, []byte(big)), []string{"Content-Type", octets, "Content-Encoding", "gzip"}, 413, "payload_too_large", "2097152"},
		{"endless empty gzip", "PUT", docs + "?path=a", strings.Repeat(zip(t, nil), 100_000), []string{"Content-Type", octets, "Content-Encoding", "gzip"}, 413, "payload_too_large", "2097152"},
		{"not gzip", "PUT", docs + "?path=a", "x", []string{"Content-Type", octets, "Content-Encoding", "gzip"}, 400, "validation_error", "cannot be read"},
		{"cut gzip", "PUT", docs + "?path=a", zip(t, []byte("hello"))[:20], []string{"Content-Type", octets, "Content-Encoding", "gzip"}, 400, "validation_error", "cannot be read"},

		{"empty body", "POST", search, "", nil, 400, "validation_error", "ends too early"},
		{"not an object", "POST", search, `["query"]`, nil, 400, "validation_error", "not a JSON object"},
		{"second value", "POST", search, `{"query":"x"} {}`, nil, 400, "validation_error", "more than one"},
		{"trailing garbage", "POST", search, `{"query":"x"}]`, nil, 400, "validation_error", "more than one"},
		{"not JSON", "POST", search, `{"query":x}`, nil, 400, "validation_error", "not valid JSON"},
		{"query not UTF-8", "GET", search + "?q=%ff", "", nil, 400, "validation_error", "UTF-8"},
		{"not UTF-8", "POST", search, "{\"query\":\"\xff\"}", nil, 400, "validation_error", "UTF-8"},
		{"wrong type", "POST", search, `{"query":"x","topK":"5"}`, nil, 400, "validation_error", "top_k must be a whole number, not a string"},
		{"fraction", "POST", search, `{"query":"x","top_k":1.5}`, nil, 400, "validation_error", "top_k must be a whole number"},
		{"spellings disagree", "POST", search, `{"query":"x","top_k":5,"topK":6}`, nil, 400, "validation_error", "top_k is given twice"},
		{"names disagree", "POST", search, `{"query":"x","question":"y"}`, nil, 400, "validation_error", "query is given twice"},
		{"key twice", "POST", search, `{"query":"x","query":"y"}`, nil, 400, "validation_error", "query is given twice"},
		{"no query", "POST", search, `{}`, nil, 400, "validation_error", "query: is missing or blank"},
		{"huge JSON", "POST", search, `{"query":"` + strings.Repeat("x", maxJSONBytes) + `"}`, nil, 413, "payload_too_large", "1048576"},
		{"query number", "GET", search + "?q=x&top_k=ten", "", nil, 400, "validation_error", "top_k"},
		{"query spellings", "GET", search + "?q=x&query=y", "", nil, 400, "validation_error", "more than once"},
		{"unknown mode", "GET", search + "?q=x&mode=magic", "", nil, 400, "validation_error", "mode"},
		{"unknown scope", "POST", search, `{"query":"x","scope":"mine"}`, nil, 400, "validation_error", "scope: \"mine\" is not one of all, global, project, agent"},
		{"query of another type", "POST", search, `{"query":5}`, nil, 400, "validation_error", "query must be a string, not a number"},
		{"mode number", "POST", search, `{"query":"x","mode":1}`, nil, 400, "validation_error", "mode must be a string, not a number"},
		{"scope number", "POST", search, `{"query":"x","scope":5}`, nil, 400, "validation_error", "scope must be a string, not a number"},
		{"explain text", "POST", search, `{"query":"x","explain":"yes"}`, nil, 400, "validation_error", "explain must be a boolean, not a string"},
		{"explain word", "GET", search + "?q=x&explain=yes", "", nil, 400, "validation_error", "explain"},
		{"filters list", "POST", search, `{"query":"x","filters":["a"]}`, nil, 400, "validation_error", "filters is not a JSON object"},
		{"unknown filter", "POST", search, `{"query":"x","filters":{"sessions":["a"]}}`, nil, 400, "validation_error", `filters has no key "sessions": use path_prefix, paths, tags, session_ids`},
		{"filter of odd letters", "POST", search, `{"query":"x","filters":{"tag\u017f":["a"]}}`, nil, 400, "validation_error", "filters has no key"},
		{"filter spellings disagree", "POST", search, `{"query":"x","filters":{"date_to":"2024-01-01","dateTo":"2024-01-02"}}`, nil, 400, "validation_error", "date_to is given twice"},
		{"filter text", "POST", search, `{"query":"x","filters":{"tags":"a"}}`, nil, 400, "validation_error", "filters.tags must be a list, not a string"},
		{"filter number", "POST", search, `{"query":"x","filters":{"tags":[1]}}`, nil, 400, "validation_error", "filters.tags must be a string, not a number"},
		{"filter of nothing", "GET", search + "?q=x&tags=", "", nil, 400, "validation_error", "filters.tags: has an empty value"},
		{"ask cut", "POST", "/v1/brains/eval/ask", `{"question":`, nil, 400, "validation_error", "ends too early"},
		{"ask unknown filter", "POST", "/v1/brains/eval/ask", `{"question":"x","filters":{"colour":"red"}}`, nil, 400, "validation_error", `filters has no key "colour"`},
		{"ask unknown scope", "POST", "/v1/brains/eval/ask", `{"question":"x","scope":"mine"}`, nil, 400, "validation_error", "scope"},
		{"top_k zero", "POST", search, `{"query":"x","top_k":0}`, nil, 400, "validation_error", "top_k: 0 is not between 1 and 100"},
		{"topK zero", "POST", search, `{"query":"x","topK":-0}`, nil, 400, "validation_error", "top_k: 0 is not between 1 and 100"},
		{"top_k below zero", "POST", search, `{"query":"x","top_k":-1}`, nil, 400, "validation_error", "top_k: -1 is not between 1 and 100"},
		{"query zero", "GET", search + "?q=x&topK=0", "", nil, 400, "validation_error", "top_k: 0 is not between 1 and 100"},
		{"misspelt filter", "GET", search + "?q=x&tag=zz", "", nil, 400, "validation_error", `a search has no query parameter "tag": use query, top_k`},
		{"misspelt prefix", "GET", search + "?q=x&pathprefix=zz", "", nil, 400, "validation_error", `no query parameter "pathprefix"`},
		{"query below zero", "GET", search + "?q=x&top_k=-1", "", nil, 400, "validation_error", "top_k: -1 is not between 1 and 100"},
		{"ask top_k zero", "POST", "/v1/brains/eval/ask", `{"question":"x","top_k":0}`, nil, 400, "validation_error", "top_k: 0 is not between 1 and 50"},
		{"ask top_k below zero", "POST", "/v1/brains/eval/ask", `{"question":"x","topK":-1}`, nil, 400, "validation_error", "top_k: -1 is not between 1 and 50"},
		{"limit zero", "GET", docs + "?limit=0", "", nil, 400, "validation_error", "limit: 0 is not between 1 and 10000"},
		{"limit below zero", "GET", docs + "?limit=-1", "", nil, 400, "validation_error", "limit: -1 is not between 1 and 10000"},
		{"no embedder", "POST", "/v1/brains/eval/ask", `{"question":"x","mode":"semantic"}`, nil, 400, "validation_error", "embedder"},

		{"name of a brain a number", "POST", "/v1/brains", `{"name":5}`, nil, 400, "validation_error", "name must be a string, not a number"},
		{"rename without from", "POST", docs + "/rename", `{"to":"b"}`, []string{"Content-Type", js}, 400, "validation_error", "from and to"},
		{"rename of nothing", "POST", docs + "/rename", `{"from":"a","to":"b"}`, []string{"Content-Type", js}, 404, "not_found", "rename a"},
		{"rename outside", "POST", docs + "/rename", `{"from":"a","to":"../b"}`, []string{"Content-Type", js}, 400, "validation_error", "invalid path"},
		{"no ops", "POST", docs + "/batch-ops", `{"reason":"r"}`, []string{"Content-Type", js}, 400, "validation_error", "ops is missing"},
		{"ops no array", "POST", docs + "/batch-ops", `{"ops":{}}`, []string{"Content-Type", js}, 400, "validation_error", "not an array"},
		{"reason no string", "POST", docs + "/batch-ops", `{"reason":5,"ops":[]}`, []string{"Content-Type", js}, 400, "validation_error", "reason must be a string"},
		{"op type", "POST", docs + "/batch-ops", batch(`{"type":"chmod","path":"a"}`), []string{"Content-Type", js}, 400, "validation_error", `op 0: type "chmod"`},
		{"op without content", "POST", docs + "/batch-ops", batch(`{"type":"write","path":"a"}`), []string{"Content-Type", js}, 400, "validation_error", "content_base64 is missing"},
		{"op null content", "POST", docs + "/batch-ops", batch(`{"type":"write","path":"a","content_base64":null}`), []string{"Content-Type", js}, 400, "validation_error", "must be a string"},
		{"op not base64", "POST", docs + "/batch-ops", batch(`{"type":"write","path":"a","content_base64":"*"}`), []string{"Content-Type", js}, 400, "validation_error", "op 0: content_base64"},
		{"op path", "POST", docs + "/batch-ops", batch(`{"type":"delete","path":"a/../b"}`), []string{"Content-Type", js}, 400, "validation_error", "op 0"},
		{"op of nothing", "POST", docs + "/batch-ops", batch(`{"type":"delete","path":"a"}`), []string{"Content-Type", js}, 404, "not_found", "op 0: delete a"},
		{"too many ops", "POST", docs + "/batch-ops", batch(manyOps), []string{"Content-Type", js}, 413, "payload_too_large", "1024"},
		{"too large ops", "POST", docs + "/batch-ops", batch(bigOps), []string{"Content-Type", js}, 413, "payload_too_large", "op 1"},
	}
	s := startFake(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := s.do(t, tt.method, tt.target, tt.body, tt.headers...)
			defer resp.Body.Close()
			var p protocol.Problem
			if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
				t.Fatalf("%d, and no problem body: %v", resp.StatusCode, err)
			}
			if resp.StatusCode != tt.status || p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) || p.Title == "" {
				t.Errorf("got %d %+v, want %d %s with %q", resp.StatusCode, p, tt.status, tt.code, tt.detail)
			}
			if got := resp.Header.Get("Content-Type"); got != protocol.TypeProblem {
				t.Errorf("Content-Type is %s", got)
			}
			if allow := resp.Header.Get("Allow"); (allow != "") != (tt.status == http.StatusMethodNotAllowed) {
				t.Errorf("Allow is %q", allow)
			}
		})
	}
	if got := s.expect(t, 200, "GET", docs+"?recursive=true&include_generated=true", ""); got != `{"items":[]}`+"\n" {
		t.Errorf("a rejected request changed the brain: %s", got)
	}
}

func TestListingLimit(t *testing.T) {
	s := startFake(t)
	st := s.open(t, "eval")
	err := st.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		for i := range protocol.MaxListItems + 1 {
			if err := b.Write(t.Context(), fmt.Sprintf("d%d/%05d.md", i%2, i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(t, 413, "GET", "/v1/brains/eval/documents?recursive=true", "")
	s.expect(t, 200, "GET", "/v1/brains/eval/documents?recursive=true&dir=d0", "")
}

// TestLimitsWithoutLength sends bodies in chunks, without a Content-Length.
func TestLimitsWithoutLength(t *testing.T) {
	s := startFake(t)
	for name, tt := range map[string]struct {
		body, encoding string
		status         int
	}{
		"short":      {"x", "", 204},
		"plain":      {strings.Repeat("x", protocol.MaxWriteBytes+1), "", 413},
		"empty gzip": {strings.Repeat(zip(t, nil), 100_000), "gzip", 413},
	} {
		t.Run(name, func(t *testing.T) {
			body := struct{ io.Reader }{strings.NewReader(tt.body)}
			req, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+"/v1/brains/eval/documents?path=a", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "Application/Octet-Stream") // a media type may have any case
			req.Header.Set("Content-Encoding", tt.encoding)
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("got %d, want %d", resp.StatusCode, tt.status)
			}
		})
	}
}

func TestLimitsAreReached(t *testing.T) {
	s := startFake(t)
	full := strings.Repeat("x", protocol.MaxWriteBytes)
	s.put(t, "full.md", full)
	random := make([]byte, protocol.MaxWriteBytes)
	for i := range random { // cannot be compressed
		random[i] = byte(i * i >> 7 * i >> 3)
	}
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=zipped", zip(t, random), "Content-Type", octets, "Content-Encoding", "gzip")
	if got := s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path=zipped", ""); got != string(random) {
		t.Error("a compressed document was changed")
	}
	for _, path := range []string{"ü/日本.md", "a b+c&d=e%2f.md", "..a/b..", "%2e%2e"} {
		s.put(t, url.QueryEscape(path), path)
		if got := s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+url.QueryEscape(path), ""); got != path {
			t.Errorf("%s has the content %s", path, got)
		}
	}
}
