package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evalctl/daemon/brain"
	"evalctl/daemon/client"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon serves the real API on a real socket. stop closes it.
func daemon() (url string, api *httpapi.API, stop func()) {
	now := func() time.Time { return time.Date(2024, 5, 1, 12, 0, 0, 123_456_789, time.UTC) }
	brains, err := brain.Open(context.Background(), brain.Config{
		Catalog: new(brain.MemoryCatalog),
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
			return memstore.Open(&store.Options{Now: now}), nil
		},
		Now: now,
	})
	if err != nil {
		panic(err)
	}
	memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel, Now: now})
	if err != nil {
		panic(err)
	}
	api = httpapi.New(httpapi.Config{Brains: brains, Memory: memories, Options: httpapi.Options{Version: "test"}})
	server := httptest.NewServer(api)
	return server.URL, api, func() {
		api.Stop()
		server.Close()
		memories.Close()
		if err := brains.Close(); err != nil {
			panic(err)
		}
	}
}

func start(t *testing.T) (*client.Client, *httpapi.API) {
	t.Helper()
	url, api, stop := daemon()
	t.Cleanup(stop)
	c := dial(t, url, nil)
	if _, err := c.CreateBrain(t.Context(), protocol.CreateBrain{ID: "eval"}); err != nil {
		t.Fatal(err)
	}
	return c, api
}

func dial(t testing.TB, url string, opts *client.Options) *client.Client {
	t.Helper()
	c, err := client.New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stub returns a client of a server that sends one response to everything.
func stub(t *testing.T, opts *client.Options, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return dial(t, server.URL+"//", opts)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrains(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	health, err := c.Health(ctx)
	if diff := cmp.Diff(protocol.Health{OK: true, Version: "test", Ready: true}, health); diff != "" || err != nil {
		t.Error(diff, err)
	}
	made, err := c.CreateBrain(ctx, protocol.CreateBrain{
		Name: "Anna's Notes", Visibility: protocol.VisibilityPublic,
	})
	if err != nil || made.ID != "anna-s-notes" || made.CreatedAt.IsZero() {
		t.Errorf("%+v, %v", made, err)
	}
	_, err = c.CreateBrain(ctx, protocol.CreateBrain{ID: "eval"})
	if client.Code(err) != protocol.CodeConflict {
		t.Errorf("created twice: %v", err)
	}
	info, err := c.Brain(made.ID).Info(ctx)
	if diff := cmp.Diff(made, info); diff != "" || err != nil {
		t.Error(diff, err)
	}
	check(t, c.Brain(made.ID).Remove(ctx))
	if _, err = c.Brain(made.ID).Info(ctx); !client.IsNotFound(err) {
		t.Errorf("after Remove: %v", err)
	}
	list, err := c.Brains(ctx)
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != "eval" || *list.DefaultBrainID != "eval" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestDocuments(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	for _, path := range []string{"a b+c&d=e%2f.md", "ü/日本.md", "%2e%2e"} {
		check(t, b.Write(ctx, path, []byte(path)))
		check(t, b.Append(ctx, path, []byte("!")))
		if data, err := b.Read(ctx, path); err != nil || string(data) != path+"!" {
			t.Errorf("%s contains %q, %v", path, data, err)
		}
	}
	check(t, b.Rename(ctx, "%2e%2e", "_x/y"))
	info, err := b.Stat(ctx, "_x/y")
	want := protocol.FileInfo{Path: "_x/y", Size: 7, MTime: "2024-05-01T12:00:00.123Z"}
	if diff := cmp.Diff(want, info); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for path, want := range map[string]bool{"_x": true, "_x/y": true, "%2e%2e": false} {
		if got, err := b.Exists(ctx, path); got != want || err != nil {
			t.Errorf("%s exists: %t, %v", path, got, err)
		}
	}
	for want, opts := range map[string]client.ListOptions{
		"[a b+c&d=e%2f.md ü]":            {},
		"[_x/y a b+c&d=e%2f.md ü/日本.md]": {Recursive: true},
		"[_x a b+c&d=e%2f.md ü]":         {IncludeGenerated: true},
		"[a b+c&d=e%2f.md ü/日本.md]":      {Recursive: true, Glob: "*.md"},
	} {
		items, err := b.List(ctx, "", opts)
		var got []string
		for _, item := range items {
			got = append(got, item.Path)
		}
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("%+v: %v, %v, want %s", opts, got, err, want)
		}
	}
	check(t, b.Delete(ctx, "_x/y"))
	err = b.Delete(ctx, "_x/y")
	if !client.IsNotFound(err) || client.Code(err) != protocol.CodeNotFound {
		t.Errorf("second delete: %v", err)
	}
	if _, err := b.Read(ctx, "../etc"); client.Code(err) != protocol.CodeValidation {
		t.Errorf("traversal: %v", err)
	}
}

// TestExistsReportsFailures: only a 404 means that a document is missing.
func TestExistsReportsFailures(t *testing.T) {
	exists := func(status int, path string) (bool, error) {
		c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		return c.Brain("eval").Exists(t.Context(), path)
	}
	if found, err := exists(http.StatusNotFound, "a.md"); found || err != nil {
		t.Errorf("404: %t, %v", found, err)
	}
	for _, status := range []int{400, 401, 403, 429, 500, 503} {
		found, err := exists(status, "a.md")
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != status || found {
			t.Errorf("%d: %t, %v", status, found, err)
		}
	}
	for _, path := range []string{"a\xff", strings.Repeat("a", protocol.MaxDocumentPath+1)} {
		found, err := exists(http.StatusOK, path)
		if e, ok := errors.AsType[*client.Error](err); !ok || !e.NotSent || found {
			t.Errorf("invalid path: %t, %v", found, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if found, err := dial(t, gone.URL, nil).Brain("eval").Exists(t.Context(), "a.md"); found || err == nil {
		t.Errorf("no connection: %t, %v", found, err)
	}
	c, _ := start(t)
	found, err := c.Brain("eval").Exists(t.Context(), "../a.md")
	if client.Code(err) != protocol.CodeValidation || found {
		t.Errorf("a path outside the brain: %t, %v", found, err)
	}
}

func TestCommit(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	n, err := b.Commit(ctx, protocol.Batch{Reason: "why", Ops: []protocol.BatchOp{
		{Type: protocol.OpWrite, Path: "a", Content: []byte{}},
		{Type: protocol.OpAppend, Path: "a", Content: []byte("\x00\xff")},
		{Type: protocol.OpRename, Path: "a", To: "b"},
		{Type: protocol.OpWrite, Path: "c", Content: []byte("c")},
		{Type: protocol.OpDelete, Path: "c"},
	}})
	if n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if data, err := b.Read(ctx, "b"); string(data) != "\x00\xff" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if n, err := b.Commit(ctx, protocol.Batch{}); n != 0 || err != nil {
		t.Errorf("empty: %d, %v", n, err)
	}
	remove := protocol.BatchOp{Type: protocol.OpDelete, Path: "b"}
	_, err = b.Commit(ctx, protocol.Batch{Ops: []protocol.BatchOp{remove, remove}})
	want := "POST /v1/brains/eval/documents/batch-ops: 404 Not Found: op 1: delete b: not found"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestHeaders checks the requests of spec 4.2 and 5 as the server receives them.
func TestHeaders(t *testing.T) {
	var seen string
	opts := &client.Options{APIKey: "key", Token: "token", UserAgent: "my-sdk/1"}
	c := stub(t, opts, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = fmt.Sprintf("%s %s %s|%s|%s|%s", r.Method, r.RequestURI, r.Header.Get("Accept"),
			r.Header.Get("Content-Type"), r.Header.Get("X-Confirm-Delete"), body)
		if auth, agent := r.Header.Get("Authorization"), r.UserAgent(); auth != "Bearer key" || agent != "my-sdk/1" {
			t.Errorf("%s: authorization %q, agent %q", seen, auth, agent)
		}
		fmt.Fprint(w, "{}")
	})
	ctx, b := t.Context(), c.Brain("a/b ?")
	const root, js, bytes = "/v1/brains/a%2Fb%20%3F", "application/json", "application/octet-stream"
	drop := func(_ any, err error) error { return err }
	for _, tt := range []struct {
		err  func() error
		want string
	}{
		{func() error { return drop(b.Read(ctx, "n/ä&.md")) }, "GET " + root + "/documents/read?path=n%2F%C3%A4%26.md " + bytes + "|||"},
		{func() error { return drop(b.Exists(ctx, "a")) }, "HEAD " + root + "/documents?path=a " + js + "|||"},
		{func() error { return drop(b.Stat(ctx, "a")) }, "GET " + root + "/documents/stat?path=a " + js + "|||"},
		{func() error { return drop(b.List(ctx, "", client.ListOptions{})) }, "GET " + root + "/documents?dir=&include_generated=false&recursive=false " + js + "|||"},
		{func() error { return b.Write(ctx, "a", []byte("x")) }, "PUT " + root + "/documents?path=a " + js + "|" + bytes + "||x"},
		{func() error { return b.Append(ctx, "a", nil) }, "POST " + root + "/documents/append?path=a " + js + "|" + bytes + "||"},
		{func() error { return b.Delete(ctx, "a") }, "DELETE " + root + "/documents?path=a " + js + "|||"},
		{func() error { return b.Rename(ctx, "a", "b") }, "POST " + root + "/documents/rename " + js + "|" + js + `||{"from":"a","to":"b"}`},
		{func() error { return drop(b.Commit(ctx, protocol.Batch{})) }, "POST " + root + "/documents/batch-ops " + js + "|" + js + `||{"reason":"","ops":[]}`},
		{func() error { return drop(b.CreateDocument(ctx, protocol.CreateDocument{Content: "x", Path: "a.md"})) }, "POST " + root + "/documents " + js + "|" + js + `||{"content":"x","path":"a.md"}`},
		{func() error { return drop(b.Documents(ctx, client.DocumentPage{})) }, "GET " + root + "/documents " + js + "|||"},
		{func() error { return drop(b.Documents(ctx, client.DocumentPage{Cursor: "a&b", Limit: 5})) }, "GET " + root + "/documents?cursor=a%26b&limit=5 " + js + "|||"},
		{func() error { return drop(b.Document(ctx, "n/ä&.md")) }, "GET " + root + "/documents/n%2F%C3%A4&.md " + js + "|||"},
		{func() error { return b.DeleteDocument(ctx, "..") }, "DELETE " + root + "/documents/%2E%2E " + js + "|||"},
		{func() error { return b.Remove(ctx) }, "DELETE " + root + " " + js + "||yes|"},
		{func() error { return drop(c.Brain("..").Info(ctx)) }, "GET /v1/brains/%2E%2E " + js + "|||"},
		{func() error { return drop(c.Brains(ctx)) }, "GET /v1/brains " + js + "|||"},
		{func() error { return drop(b.Search(ctx, protocol.SearchRequest{Query: "q"})) }, "POST " + root + "/search " + js + "|" + js + `||{"query":"q"}`},
	} {
		if err := tt.err(); err != nil || seen != tt.want {
			t.Errorf("sent %s, want %s (%v)", seen, tt.want, err)
		}
	}
	_, err := b.Ask(ctx, protocol.AskRequest{Question: "q"}, nil)
	if want := "POST " + root + "/ask text/event-stream|" + js + `||{"question":"q"}`; seen != want {
		t.Errorf("sent %s, want %s (%v)", seen, want, err)
	}
	err = b.Events(ctx, nil, nil)
	if want := "GET " + root + "/events text/event-stream|||"; seen != want {
		t.Errorf("sent %s, want %s (%v)", seen, want, err)
	}
}

func TestNothingIsSentAboveALimit(t *testing.T) {
	c := stub(t, nil, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("sent %s %s", r.Method, r.URL)
	})
	ctx, b := t.Context(), c.Brain("eval")
	long := strings.Repeat("ä", protocol.MaxDocumentPath+1)
	big := make([]byte, protocol.MaxWriteBytes+1)
	op := protocol.BatchOp{Type: protocol.OpWrite, Path: "a", Content: []byte{}}
	half := op
	half.Content = make([]byte, protocol.MaxBatchBytes/2+1)
	commit := func(batch protocol.Batch) error {
		_, err := b.Commit(ctx, batch)
		return err
	}
	drop := func(_ any, err error) error { return err }
	create := func(d protocol.CreateDocument) error { return drop(b.CreateDocument(ctx, d)) }
	for name, tt := range map[string]struct {
		err    error
		status int
	}{
		"write":         {b.Write(ctx, "a", big), 413},
		"append":        {b.Append(ctx, "a", big), 413},
		"ops":           {commit(protocol.Batch{Ops: append(make([]protocol.BatchOp, protocol.MaxBatchOps), op)}), 413},
		"batch":         {commit(protocol.Batch{Ops: []protocol.BatchOp{half, half}}), 413},
		"reason":        {commit(protocol.Batch{Reason: strings.Repeat("x", protocol.MaxBatchText+1)}), 413},
		"no content":    {commit(protocol.Batch{Ops: []protocol.BatchOp{{Type: protocol.OpWrite, Path: "a"}}}), 400},
		"bytes in path": {commit(protocol.Batch{Ops: []protocol.BatchOp{{Type: protocol.OpDelete, Path: "a\xff"}}}), 400},
		"path":          {b.Write(ctx, long, nil), 400},
		"no path":       {b.Delete(ctx, ""), 400},
		"destination":   {b.Rename(ctx, "a", "b\xff"), 400},
		"glob":          {drop(b.List(ctx, "", client.ListOptions{Glob: long})), 400},
		"query":         {drop(b.Search(ctx, protocol.SearchRequest{Query: strings.Repeat("x", protocol.MaxSearchQuery+1)})), 400},
		"top k":         {drop(b.Search(ctx, protocol.SearchRequest{Query: "x", TopK: protocol.MaxSearchTopK + 1})), 400},
		"question":      {drop(b.Ask(ctx, protocol.AskRequest{Question: strings.Repeat("x", protocol.MaxAskQuery+1)}, nil)), 400},
		"ask top k":     {drop(b.Ask(ctx, protocol.AskRequest{Question: "x", TopK: -1}, nil)), 400},
		"content":       {create(protocol.CreateDocument{Content: strings.Repeat("x", protocol.MaxDocumentContent+1)}), 413},
		"content bytes": {create(protocol.CreateDocument{Content: "a\xff"}), 400},
		"title":         {create(protocol.CreateDocument{Title: strings.Repeat("ä", protocol.MaxDocumentTitle+1)}), 400},
		"record path":   {create(protocol.CreateDocument{Path: long}), 400},
		"tags":          {create(protocol.CreateDocument{Tags: make([]string, protocol.MaxDocumentTags+1)}), 400},
		"tag":           {create(protocol.CreateDocument{Tags: []string{"a", strings.Repeat("ä", protocol.MaxDocumentTag+1)}}), 400},
		"metadata key":  {create(protocol.CreateDocument{Metadata: map[string]any{strings.Repeat("ä", protocol.MaxMetadataKey+1): 1}}), 400},
		"metadata":      {create(protocol.CreateDocument{Metadata: map[string]any{"a": "\xff"}}), 400},
		"limit":         {drop(b.Documents(ctx, client.DocumentPage{Limit: protocol.MaxListItems + 1})), 400},
		"no id":         {drop(b.Document(ctx, "")), 400},
		"delete no id":  {b.DeleteDocument(ctx, ""), 400},
		"id":            {b.DeleteDocument(ctx, "a\xff"), 400},
		"name":          {drop(c.CreateBrain(ctx, protocol.CreateBrain{Name: strings.Repeat("x", protocol.MaxBrainName+1)})), 400},
	} {
		e, ok := errors.AsType[*client.Error](tt.err)
		if !ok || !e.NotSent || e.Status != tt.status || !strings.Contains(tt.err.Error(), "not sent: ") {
			t.Errorf("%s: %+v", name, tt.err)
		}
	}
}

func TestErrors(t *testing.T) {
	const secret = "sekret-token"
	for name, tt := range map[string]struct {
		status     int
		header     string // Retry-After
		body, code string
		text       string
		retry      time.Duration
	}{
		"problem":      {429, "7", `{"code":"rate_limited","detail":"slow down"}`, "rate_limited", "429 Too Many Requests: slow down", 7 * time.Second},
		"far off":      {503, "Fri, 31 Dec 9999 23:59:59 GMT", "", "internal_error", "503 Service Unavailable", 365 * 24 * time.Hour},
		"unknown code": {409, "", `{"code":"busy","title":"Busy"}`, "busy", "409 Conflict: Busy", 0},
		"no code":      {413, "", `{"status":413}`, "payload_too_large", "413 Request Entity Too Large", 0},
		"plain text":   {502, "soon", "upstream\n\x1b[2Jis  gone", "bad_gateway", "502 Bad Gateway: upstream \ufffd[2Jis gone", 0},
		"no body":      {503, "-1", "", "internal_error", "503 Service Unavailable", 0},
		"own token":    {401, "", "no such token: Bearer " + secret, "unauthorized", "401 Unauthorized: no such token: Bearer [token]", 0},
		"redirect":     {307, "", "", "internal_error", "307 Temporary Redirect", 0},
	} {
		c := stub(t, &client.Options{Token: secret}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("followed to %s", r.URL)
			}
			w.Header().Set("Retry-After", tt.header)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		})
		_, err := c.Health(t.Context())
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Status != tt.status || e.RetryAfter != tt.retry ||
			client.Code(err) != tt.code || err.Error() != "GET /healthz: "+tt.text {
			t.Errorf("%s: %+v, %s", name, err, client.Code(err))
		}
	}
	if client.Code(io.EOF) != "" || client.IsNotFound(io.EOF) {
		t.Error("other errors have a code")
	}
}

func TestNew(t *testing.T) {
	for url, says := range map[string]string{
		"":                        "must be an http or https URL",
		"127.0.0.1:8787":          "cannot be parsed",
		"ftp://host":              "must be an http or https URL",
		"http://":                 "must be an http or https URL",
		"http://u:sekret@host":    "must not contain",
		"http://u:sekret@host:x/": "cannot be parsed",
		"http://host/?a":          "without ?",
		"http://host/#a":          "without ?",
	} {
		_, err := client.New(url, nil)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sekret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, token := range []string{"sekret\r\nX: y", "sekret token", "sekrét"} {
		_, err := client.New("http://host", &client.Options{Token: token})
		if err == nil || strings.Contains(err.Error(), "sekr") {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int32
	opts := &client.Options{
		Timeout: time.Millisecond, HTTPClient: &http.Client{Timeout: time.Nanosecond},
	}
	c := stub(t, opts, func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	b := c.Brain("eval")
	err := b.Append(t.Context(), "a", nil)
	want := "POST /v1/brains/eval/documents/append: no answer within 1ms"
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := b.Events(t.Context(), nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("attach: %v", err)
	}
	if calls.Load() > 2 {
		t.Errorf("%d requests", calls.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestBadAnswers(t *testing.T) {
	c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[1") })
	_, err := c.Brain("eval").Stat(t.Context(), "secret.md")
	if _, ok := errors.AsType[*json.SyntaxError](err); !ok || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err = dial(t, gone.URL, nil).Brain("eval").Stat(t.Context(), "secret.md")
	want := "GET /v1/brains/eval/documents/stat: dial tcp"
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
