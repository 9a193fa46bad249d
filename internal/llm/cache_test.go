package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm/llmtest"
)

func openReplies(t *testing.T, dir string, mode CacheMode, limit int64) *Cache {
	t.Helper()
	c, err := OpenCache(dir, mode, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// echo answers with the number of the request.
func echo() func(llmtest.Call) llmtest.Reply {
	var n atomic.Int64
	return func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: fmt.Sprintf("answer %d", n.Add(1)), Input: 10, Output: 5}
	}
}

func complete(t *testing.T, p Provider, r Request) Response {
	t.Helper()
	resp, err := p.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// files returns the paths of all files below a folder.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestCacheSaves: a cached reply saves what the request was charged, whatever the provider counted.
// The tokens of one that was stored without them are estimated.
func TestCacheSaves(t *testing.T) {
	r := ask("m", "a question")
	for name, usage := range map[string]string{
		"counted": `{"prompt_tokens": 10, "completion_tokens": 5}`, "not counted": "null", "impossible": `{"prompt_tokens": -1}`,
	} {
		for _, b := range []*Budget{nil, NewBudget(Dollar)} {
			m, srv := openMeter(t, b, llmtest.Script(llmtest.Reply{Text: "an answer", Usage: usage}))
			p := openReplies(t, t.TempDir(), CacheWrite, 0).Wrap(m, srv.URL)
			paid, kept := complete(t, p, r), complete(t, p, r)
			if kept.SavedUSD != paid.Cost || paid.Cost == 0 || kept.Usage.Estimated != (name != "counted") {
				t.Errorf("%s, capped %t: %+v, paid %s", name, b != nil, kept, paid.Cost)
			}
		}
	}
	m, srv := openMeter(t, nil, llmtest.Script())
	c := openReplies(t, t.TempDir(), CacheWrite, 0)
	p := c.Wrap(m, srv.URL)
	key, err := p.(*cachedProvider).key(r)
	if err != nil {
		t.Fatal(err)
	}
	c.Store(key, cachedReply{Text: "an answer"})
	if got := complete(t, p, r); got.SavedUSD == 0 || !got.Usage.Estimated {
		t.Errorf("without a count: %+v", got)
	}
}

// TestCacheHit: a cached reply costs nothing and needs nothing of the cap, also in another process.
func TestCacheHit(t *testing.T) {
	dir := t.TempDir()
	r := ask("m", "q")
	b := NewBudget(700 * token)
	m, srv := openMeter(t, b, echo())
	first := complete(t, openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL), r)
	if first.Cached || first.Cost != 15*token || first.Attempts != 1 {
		t.Errorf("%+v", first)
	}
	b.Charge(685 * token) // nothing is left
	c := openReplies(t, dir, CacheWrite, 0)
	p := c.Wrap(m, srv.URL+"/")
	want := Response{Text: "answer 1", Model: "m", FinishReason: "stop", Usage: Usage{InputTokens: 10, OutputTokens: 5},
		Cached: true, SavedUSD: 15 * token}
	if got := complete(t, p, r); got != want {
		t.Error(cmp.Diff(want, got))
	}
	var pieces []string
	got, err := p.Complete(t.Context(), streamed(r, func(s string) error { pieces = append(pieces, s); return nil }))
	if err != nil || got != want || !cmp.Equal(pieces, []string{"answer 1"}) {
		t.Error(err, pieces, got)
	}
	if _, err := p.Complete(t.Context(), ask("m", "other")); !errors.Is(err, ErrBudgetExceeded) {
		t.Errorf("a miss: %v", err)
	}
	if got, want := c.Stats(), (CacheStats{Hits: 2, Misses: 1, Saved: 30 * token}); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if n := len(srv.Calls()); n != 1 || m.Totals().Calls != 2 {
		t.Errorf("%d requests, %+v", n, m.Totals())
	}
}

// TestCacheKey: everything that is sent distinguishes requests, and nothing else.
func TestCacheKey(t *testing.T) {
	dir := t.TempDir()
	m, srv := openMeter(t, nil, echo())
	wrap := func(url string) Provider { return openReplies(t, dir, CacheWrite, 0).Wrap(m, url) }
	p := wrap(srv.URL)
	base := ask("m", "q")
	complete(t, p, base)
	for name, change := range map[string]func(*Request){
		"model":       func(r *Request) { r.Model = "n" },
		"content":     func(r *Request) { r.Messages = []Message{{RoleUser, "q "}} },
		"role":        func(r *Request) { r.Messages = []Message{{RoleSystem, "q"}} },
		"messages":    func(r *Request) { r.Messages = append(r.Messages, r.Messages[0]) },
		"temperature": func(r *Request) { r.Temperature = 0.5 },
		"max tokens":  func(r *Request) { r.MaxTokens++ },
		"JSON":        func(r *Request) { r.JSON = true },
		"attempt":     func(r *Request) { r.Attempt = 1 },
		"reasoning":   func(r *Request) { r.Model = "gpt-5" },
	} {
		r := base
		change(&r)
		if complete(t, p, r).Cached {
			t.Errorf("another %s: the cached reply is used", name)
		}
		if !complete(t, p, r).Cached {
			t.Errorf("another %s: not cached", name)
		}
	}
	if complete(t, wrap(srv.URL+"/v2"), base).Cached {
		t.Error("another base URL: the cached reply is used")
	}
	same := base
	same.Fake = func() string { return "x" }
	if !complete(t, p, same).Cached {
		t.Error("what is not sent distinguishes requests")
	}
}

func TestCacheModes(t *testing.T) {
	dir := t.TempDir()
	m, srv := openMeter(t, nil, echo())
	r := ask("m", "q")
	if p := openReplies(t, "", CacheOff, 0).Wrap(m, srv.URL); p != Provider(m) {
		t.Errorf("off: %T", p)
	}
	p := openReplies(t, dir, CacheRead, 0).Wrap(m, srv.URL)
	for range 2 {
		if complete(t, p, r).Cached || len(files(t, dir)) != 0 {
			t.Error("mode read stores")
		}
	}
	only := openReplies(t, dir, CacheOnly, 0)
	before := len(srv.Calls())
	_, err := only.Wrap(m, srv.URL).Complete(t.Context(), r)
	if !errors.Is(err, ErrNotCached) || !strings.Contains(err.Error(), `"m"`) || !strings.Contains(err.Error(), "--cache write") {
		t.Errorf("got %v", err)
	}
	complete(t, openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL), r)
	for _, mode := range []CacheMode{CacheRead, CacheOnly, CacheWrite} {
		if !complete(t, openReplies(t, dir, mode, 0).Wrap(m, srv.URL), r).Cached {
			t.Errorf("mode %s: not cached", mode)
		}
	}
	if n := len(srv.Calls()); n != before+1 {
		t.Errorf("%d requests", n-before)
	}
	for _, bad := range []CacheMode{"", "on"} {
		if _, err := OpenCache(dir, bad, 0); err == nil || !strings.Contains(err.Error(), "off, read, write or only") {
			t.Errorf("mode %q: %v", bad, err)
		}
	}
	if _, err := OpenCache("", CacheOnly, 0); err == nil {
		t.Error("no folder")
	}
	fake, _ := NewMeter(NewFake(), nil, nil)
	if p := only.Wrap(fake, ""); p != Provider(fake) {
		t.Errorf("fake: %T", p)
	}
	if _, err := NewMeter(only.Wrap(m, ""), nil, nil); err == nil {
		t.Error("a meter over a cached meter")
	}
}

// TestIncompleteRepliesAreNotCached includes failures.
func TestIncompleteRepliesAreNotCached(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"filtered": {Text: "a", FinishReason: "content_filter"},
		"empty":    {},
		"rejected": {Status: 404},
	} {
		dir := t.TempDir()
		m, srv := openMeter(t, nil, llmtest.Script(reply, llmtest.Reply{Text: "whole", FinishReason: llmtest.NoFinishReason}))
		p := openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL)
		_, _ = p.Complete(t.Context(), ask("m", "q"))
		if len(files(t, dir)) != 0 {
			t.Errorf("%s: stored", name)
		}
		if got := complete(t, p, ask("m", "q")); got.Cached || got.Text != "whole" {
			t.Errorf("%s: %+v", name, got)
		}
		if got := complete(t, p, ask("m", "q")); !got.Cached {
			t.Errorf("%s: not stored later", name)
		}
	}
}

// TestCutRepliesAreCached: a reply that the limit cut is the outcome of its request, and was paid,
// even if thoughts took all tokens.
func TestCutRepliesAreCached(t *testing.T) {
	for _, text := range []string{"a", ""} {
		dir := t.TempDir()
		m, srv := openMeter(t, nil, llmtest.Script(llmtest.Reply{Text: text, FinishReason: "length"}))
		complete(t, openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL), ask("m", "q"))
		for _, mode := range []CacheMode{CacheWrite, CacheOnly} {
			got, err := openReplies(t, dir, mode, 0).Wrap(m, srv.URL).Complete(t.Context(), ask("m", "q"))
			if err != nil || !got.Cached || !got.Cut() || got.Text != text {
				t.Errorf("%q, mode %s: %+v, %v", text, mode, got, err)
			}
		}
	}
}

// TestDamagedReply: whatever happened to a file, it is a miss, and replaced.
func TestDamagedReply(t *testing.T) {
	dir := t.TempDir()
	m, srv := openMeter(t, nil, echo())
	p := openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL)
	complete(t, p, ask("m", "other"))
	other, err := os.ReadFile(files(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(data []byte) []byte { return data[:len(data)-1] },
		"changed": func(data []byte) []byte { data[len(data)-3] ^= 1; return data },
		"another": func([]byte) []byte { return other },
	} {
		complete(t, p, ask("m", name))
		for _, path := range files(t, dir) {
			data, err := os.ReadFile(path)
			if err == nil && string(data) != string(other) {
				err = os.WriteFile(path, damage(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before := p.(*cachedProvider).cache.Stats().Damaged
		if complete(t, p, ask("m", name)).Cached || !complete(t, p, ask("m", name)).Cached {
			t.Errorf("%s: not replaced", name)
		}
		if got := p.(*cachedProvider).cache.Stats(); got.Damaged != before+1 || got.Failed != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		_ = os.RemoveAll(filepath.Join(dir, "replies-v1"))
		_ = complete(t, p, ask("m", "other"))
	}
}

// TestCacheLimit: the replies unused for longest are removed, also those of other processes.
func TestCacheLimit(t *testing.T) {
	dir := t.TempDir()
	const limit = 16 * block
	m, srv := openMeter(t, nil, echo())
	wrap := func() (Provider, *Cache) {
		c := openReplies(t, dir, CacheWrite, limit)
		return c.Wrap(m, srv.URL), c
	}
	p, _ := wrap()
	other, _ := wrap()
	question := func(i int) Request { return ask("m", fmt.Sprintf("question %d", i)) }
	for i := range 100 {
		if i%2 == 0 {
			complete(t, p, question(i))
		} else {
			complete(t, other, question(i))
		}
		age(t, dir)
		complete(t, p, question(0))
		if n := len(files(t, dir)); n > limit/block {
			t.Fatalf("%d files after %d requests", n, i)
		}
	}
	if !complete(t, p, question(0)).Cached || !complete(t, p, question(99)).Cached {
		t.Error("what was used last was removed")
	}
	if complete(t, p, question(1)).Cached {
		t.Error("what was used first was not removed")
	}
	small := openReplies(t, t.TempDir(), CacheWrite, 1)
	if complete(t, small.Wrap(m, srv.URL), question(0)); small.Stats().Failed != 1 || small.Stats().Failure == nil {
		t.Errorf("%+v", small.Stats())
	}
}

// age makes all files a minute older.
func age(t *testing.T, dir string) {
	t.Helper()
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err == nil {
			err = os.Chtimes(path, time.Time{}, info.ModTime().Add(-time.Minute))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnwritableCache: what was paid for is returned, and the failure is in the stats.
func TestUnwritableCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, srv := openMeter(t, nil, echo())
	c := openReplies(t, dir, CacheWrite, 0)
	if got := complete(t, c.Wrap(m, srv.URL), ask("m", "q")); got.Text != "answer 1" {
		t.Errorf("%+v", got)
	}
	if s := c.Stats(); s.Failed == 0 || s.Failure == nil || s.Stored != 0 || s.Misses != 1 {
		t.Errorf("%+v", s)
	}
}

// TestSameRequestAtOnce: of equal requests one is paid, and the others wait for its reply.
func TestSameRequestAtOnce(t *testing.T) {
	m, srv := openMeter(t, nil, echo())
	p := openReplies(t, t.TempDir(), CacheWrite, 0).Wrap(m, srv.URL)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if got, err := p.Complete(t.Context(), ask("m", fmt.Sprint("q", i%2))); err != nil || got.Text == "" {
				t.Error(got, err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	if n := len(srv.Calls()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// TestWaitingForAFailure: if the request that others wait for fails, the next one is made, and a
// waiting caller leaves with its context.
func TestWaitingForAFailure(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	var n atomic.Int64
	m, srv := openMeter(t, nil, func(llmtest.Call) llmtest.Reply {
		if n.Add(1) > 1 {
			return llmtest.Reply{Text: "second"}
		}
		close(arrived)
		<-answer
		return llmtest.Reply{Status: 400}
	})
	p := openReplies(t, t.TempDir(), CacheWrite, 0).Wrap(m, srv.URL)
	failed, second := make(chan error), make(chan Response)
	go func() {
		_, err := p.Complete(t.Context(), ask("m", "q"))
		failed <- err
	}()
	awaittest.Receive(t, "arrived", arrived)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Complete(ctx, ask("m", "q")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	go func() {
		resp, _ := p.Complete(t.Context(), ask("m", "q"))
		second <- resp
	}()
	close(answer)
	if err := awaittest.Receive(t, "failed", failed); err == nil {
		t.Error("no failure")
	}
	if got := awaittest.Receive(t, "second", second); got.Text != "second" || got.Cached {
		t.Errorf("%+v", got)
	}
}

// TestSecretsAreNotCached looks for the key and the prompt in every file.
func TestSecretsAreNotCached(t *testing.T) {
	dir := t.TempDir()
	o, srv := openStub(t, llmtest.Reply{Text: "yes", Input: 1, Output: 1})
	m, err := NewMeter(o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	complete(t, openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL), ask("m", "my diary"))
	for _, path := range files(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(data), secret) || strings.Contains(string(data), "diary") {
			t.Errorf("%s: %s, %v", path, data, err)
		}
	}
}

// TestCacheOfDialects: what an endpoint refuses is not in the key, so that the next run, which does not
// know it yet, has the reply. What options say is in it.
func TestCacheOfDialects(t *testing.T) {
	dir, calls := t.TempDir(), 0
	reply := func(c llmtest.Call) llmtest.Reply {
		calls++
		if strings.Contains(string(c.Body), `"temperature"`) {
			return llmtest.Reply{Status: 400, Body: `{"error":{"message":"no temperature","param":"temperature"}}`}
		}
		return llmtest.Reply{Text: "a"}
	}
	_, srv := openMeter(t, nil, reply)
	for _, tt := range []struct {
		options Options
		cached  bool
		calls   int
	}{{Options{}, false, 2}, {Options{}, true, 2}, {Options{Temperature: none}, false, 3}, {Options{Temperature: none}, true, 3}} {
		o, err := newOpenAI(endpointConfig{BaseURL: srv.URL}) // of another run
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewMeter(o, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := ask("m", "q")
		r.Options = tt.options
		if got := complete(t, openReplies(t, dir, CacheWrite, 0).Wrap(m, srv.URL), r); got.Cached != tt.cached || calls != tt.calls {
			t.Errorf("%+v: %+v after %d requests", tt.options, got, calls)
		}
	}
}

// TestLargeReply: what is stored is found again, as large as the vectors of a large batch.
func TestLargeReply(t *testing.T) {
	f := replyFiles{dir: t.TempDir()}
	content := bytes.Repeat([]byte("0.123, "), 3<<20)
	if err := f.write(CacheKey{1}, content); err != nil {
		t.Fatal(err)
	}
	if got, err := f.read(CacheKey{1}); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d of %d bytes, %v", len(got), len(content), err)
	}
	if err := f.write(CacheKey{2}, make([]byte, maxReply)); err == nil {
		t.Error("stored what cannot be read")
	}
}
