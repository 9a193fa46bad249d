package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// cost returns a charge of n nano-dollars for n tokens in and 2n tokens out.
func cost(n int) llm.Charge {
	return llm.Charge{Cost: llm.USD(n), Usage: llm.Usage{InputTokens: n, OutputTokens: 2 * n}}
}

// fill makes requests of every kind and leaves one without an outcome.
func fill(tb testing.TB, l *ledger.Ledger) {
	tb.Helper()
	reserve(tb, l.Account(ledger.Ingest, "go"), 500)(cost(100))
	reserve(tb, l.Account(ledger.Actor, "ts"), 300)(llm.Charge{Cost: 300, Lost: 300})
	reserve(tb, l.Account(ledger.Judge, "ts"), 300)(llm.Charge{Rejected: true})
	reserve(tb, l.Account(ledger.Embed, "go"), 0)(llm.Charge{Usage: llm.Usage{InputTokens: 9, Estimated: true}, Unpriced: true})
	l.Account(ledger.Judge, "ts").Lookup(context.Background(), model, llm.CacheKey{1}, &llm.Charge{Cost: 40})
	l.Account(ledger.Judge, "go").Lookup(context.Background(), model, llm.CacheKey{2}, nil)
	reserve(tb, l.Account(ledger.Actor, "go"), 70)
}

// untimed returns lines without what differs from run to run: times, and the chain of lines with
// them.
func untimed(lines []byte) string {
	return regexp.MustCompile(`"(chain|at)":"[^"]*",`).ReplaceAllString(string(lines), "")
}

func TestFormat(t *testing.T) {
	l := create(t, new(2*llm.Dollar))
	fill(t, l)
	closed(t, l)
	got := filetest.Read(t, l.Path())
	want := `{"kind":"replay","version":1,"started_at":"2026-11-22T01:02:03Z","cap_usd":2.00,"options":{"seed":7}}
{"kind":"reserve","id":1,"phase":"ingest","arm":"go","model":"gpt-4o","usd":0.0000005}
{"kind":"settle","id":1,"phase":"ingest","arm":"go","model":"gpt-4o","usd":0.0000001,"input_tokens":100,"output_tokens":200}
{"kind":"reserve","id":2,"phase":"actor","arm":"ts","model":"gpt-4o","usd":0.0000003}
{"kind":"settle","id":2,"phase":"actor","arm":"ts","model":"gpt-4o","usd":0.0000003,"lost_usd":0.0000003}
{"kind":"reserve","id":3,"phase":"judge","arm":"ts","model":"gpt-4o","usd":0.0000003}
{"kind":"settle","id":3,"phase":"judge","arm":"ts","model":"gpt-4o","usd":0.00,"rejected":true}
{"kind":"settle","phase":"embed","arm":"go","model":"gpt-4o","usd":0.00,"input_tokens":9,"estimated":true,"unpriced":true}
{"kind":"hit","phase":"judge","arm":"ts","model":"gpt-4o","usd":0.00000004,"reply":"01000000000000000000000000000000"}
{"kind":"miss","phase":"judge","arm":"go","model":"gpt-4o","usd":0.00,"reply":"02000000000000000000000000000000"}
{"kind":"reserve","id":4,"phase":"actor","arm":"go","model":"gpt-4o","usd":0.00000007}
`
	if diff := cmp.Diff(want, untimed(got)); diff != "" {
		t.Error(diff)
	}
	l = reopen(t, l.Path())
	closed(t, l)
	got, _ = os.ReadFile(l.Path())
	want += `{"kind":"settle","id":4,"phase":"actor","arm":"go","model":"gpt-4o","usd":0.00000007,"lost_usd":0.00000007}` + "\n"
	if diff := cmp.Diff(want, untimed(got)); diff != "" {
		t.Error(diff)
	}
}

// unlinked returns a ledger as an older version wrote it.
func unlinked(data []byte) []byte {
	return regexp.MustCompile(`"chain":"[0-9a-f]*",`).ReplaceAll(data, nil)
}

// TestChangedLines: a ledger in which a line was changed, removed or moved is refused with the line.
// One of an older version is continued as that version would.
func TestChangedLines(t *testing.T) {
	l := create(t, new(2*llm.Dollar))
	fill(t, l)
	closed(t, l)
	data := filetest.Read(t, l.Path())
	lines := strings.SplitAfter(string(data), "\n")
	for want, text := range map[string]string{
		":3: the ledger is damaged: it does not continue": strings.Replace(string(data), `"usd":0.0000001,`, `"usd":0.00,`, 1),
		":1: the ledger is damaged: it does not continue": strings.Replace(string(data), `"cap_usd":2.00`, `"cap_usd":9.00`, 1),
		":9: the ledger is damaged: it does not continue": strings.Join(slices.Delete(slices.Clone(lines), 8, 9), ""),
	} {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "changed.ledger"), text)
		if _, err := ledger.Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "start a new replay") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	path := filetest.Write(t, filepath.Join(t.TempDir(), "old.ledger"), unlinked(data))
	old, chained := reopen(t, path), reopen(t, l.Path())
	if old.Spent() != chained.Spent() || !old.Unchained() || chained.Unchained() {
		t.Errorf("spent %s, %s with links", old.Spent(), chained.Spent())
	}
	closed(t, old)
	closed(t, chained)
	if got, _ := os.ReadFile(path); bytes.Contains(got, []byte("chain")) || bytes.Count(got, []byte("\n")) != len(lines) {
		t.Errorf("got %s", got)
	}
}

// TestSaved: each reply saves once what arms together did not pay for it, also after the ledger was
// opened again. Lines without the name of a reply count each.
func TestSaved(t *testing.T) {
	l := create(t, new(2*llm.Dollar))
	a, b, check := l.Account(ledger.Judge, "a"), l.Account(ledger.Actor, "b"), l.Account(ledger.Judge, "check")
	guess := &llm.Charge{Cost: 7, Usage: llm.Usage{Estimated: true}}
	for range 2 { // as if the replay had been resumed
		a.Lookup(context.Background(), model, llm.CacheKey{1}, &llm.Charge{Cost: 40})
		check.Lookup(context.Background(), model, llm.CacheKey{2}, &llm.Charge{Cost: 10})
		a.Lookup(context.Background(), model, llm.CacheKey{3}, guess)
	}
	a.Lookup(context.Background(), model, llm.CacheKey{2}, &llm.Charge{Cost: 10})
	a.Lookup(context.Background(), model, llm.CacheKey{3}, nil) // it paid after all
	b.Lookup(context.Background(), model, llm.CacheKey{1}, nil)
	b.Lookup(context.Background(), model, llm.CacheKey{3}, guess)
	b.Lookup(context.Background(), model, llm.CacheKey{}, nil) // not stored
	for range 2 {
		b.Lookup(context.Background(), model, llm.CacheKey{}, &llm.Charge{Cost: 3})
	}
	for range 2 {
		for _, tt := range []struct {
			arms      []string
			saved     llm.USD
			estimated int
		}{
			{[]string{"a"}, 50, 0}, {[]string{"a", "check"}, 50, 0}, {[]string{"check"}, 10, 0},
			{[]string{"b"}, 13, 1}, {[]string{"b", "check"}, 23, 1}, {[]string{"c"}, 0, 0},
		} {
			if saved, estimated := l.Saved(tt.arms...); saved != tt.saved || estimated != tt.estimated {
				t.Errorf("%v: %s, %d estimated, want %s, %d", tt.arms, saved, estimated, tt.saved, tt.estimated)
			}
		}
		if c := l.Accounting("a"); c.CachedSavingsUSD != 104 || c.CacheHits != 5 || c.CacheMisses != 1 {
			t.Errorf("%+v", c)
		}
		closed(t, l)
		l = reopen(t, l.Path())
	}
	closed(t, l)
}

// TestAccounting: figures are the same after the ledger was opened again, and nothing is charged
// twice.
func TestAccounting(t *testing.T) {
	l := create(t, new(2*llm.Dollar))
	fill(t, l)
	tokens := func(requests, in, out, estimated int, usd llm.USD) map[string]result.ModelTokens {
		return map[string]result.ModelTokens{model: {
			Requests: requests, InputTokens: int64(in), OutputTokens: int64(out), Estimated: estimated, USD: usd}}
	}
	both := result.CostAccounting{
		IngestUSD: 100, ActorUSD: 370, TotalUSD: 470, CachedSavingsUSD: 40, CapUSD: new(2 * llm.Dollar), LostUSD: 370,
		Tokens: tokens(4, 109, 200, 1, 470), CacheHits: 1, CacheMisses: 1, Unpriced: []string{model},
	}
	ts := result.CostAccounting{
		ActorUSD: 300, TotalUSD: 300, CachedSavingsUSD: 40, CapUSD: new(2 * llm.Dollar), LostUSD: 300,
		Tokens: tokens(1, 0, 0, 0, 300), CacheHits: 1, Unpriced: []string{},
	}
	for range 3 {
		closed(t, l)
		l = reopen(t, l.Path())
		if diff := cmp.Diff(both, l.Accounting("")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(ts, l.Accounting("ts")); diff != "" {
			t.Error(diff)
		}
		addsUp(t, l, "ts", "go")
	}
	if got := l.Accounting("py"); got.TotalUSD != 0 || got.Tokens == nil || got.Unpriced == nil {
		t.Errorf("an arm without requests: %+v", got)
	}
	if string(l.Options()) != `{"seed":7}` || !l.StartedAt().Equal(started) {
		t.Errorf("got %s, %v", l.Options(), l.StartedAt())
	}
	closed(t, l)
}

// TestCapIsShared: money spent before a resume, or in another phase or arm, counts.
func TestCapIsShared(t *testing.T) {
	l := create(t, new(llm.USD(1000)))
	reserve(t, l.Account(ledger.Ingest, "go"), 600)(cost(600))
	reserve(t, l.Account(ledger.Actor, "ts"), 300) // killed
	closed(t, l)
	l = reopen(t, l.Path())
	refused := func(worst llm.USD) {
		t.Helper()
		_, err := l.Account(ledger.Judge, "py").Reserve(t.Context(), model, worst)
		if !errors.Is(err, llm.ErrBudgetExceeded) {
			t.Errorf("%d of %s: got %v", worst, l.Spent(), err)
		}
	}
	refused(101)
	reserve(t, l.Account(ledger.Judge, "py"), 100)(cost(90))
	if err := l.SetCap(2000, nil); err != nil {
		t.Fatal(err)
	}
	refused(1011)
	closed(t, l)
	l = reopen(t, l.Path())
	refused(1011)
	reserve(t, l.Account(ledger.Judge, "py"), 1010)(cost(1010))
	refused(1)
	if err := l.SetCap(2000, json.RawMessage(`{"cap":"2000"}`)); err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	l = reopen(t, l.Path())
	if got, want := string(l.Options()), `{"cap":"2000","seed":7}`; got != want {
		t.Errorf("options %s, want %s", got, want)
	}
	if *l.Cap() != 2000 || l.Spent() != 2000 {
		t.Errorf("cap %s, spent %s", l.Cap(), l.Spent())
	}
	reserve(t, l.Account(ledger.Judge, "py"), 0)(cost(0))
	closed(t, l)
}

func TestNoCap(t *testing.T) {
	l := create(t, nil)
	m, err := metered(l, llm.NewFake(), llm.DefaultPrices(), ledger.Actor, "go")
	if err != nil || m.CheckModel("house-model") != nil {
		t.Fatal(err, m.CheckModel("house-model"))
	}
	reserve(t, l.Account(ledger.Actor, "go"), 1<<60)(cost(3))
	if l.Cap() != nil || l.Accounting("").CapUSD != nil || l.Spent() != 3 {
		t.Errorf("%+v", l.Accounting(""))
	}
	closed(t, l)
}

// TestProvider: tokens of free models are counted, and survive.
func TestProvider(t *testing.T) {
	l := create(t, new(llm.USD(0)))
	m, err := metered(l, llm.NewFake(), llm.DefaultPrices(), ledger.Actor, "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := metered(l, m, nil, ledger.Judge, "go"); err == nil {
		t.Error("a provider is counted twice")
	}
	r := llm.Request{Model: llm.FakeModel, MaxTokens: 9, Messages: []llm.Message{{Role: "user", Content: "Which?"}},
		Fake: func() string { return "Blue." }}
	for range 2 {
		if _, err := m.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := l.Accounting("go")
	if got := want.Tokens[llm.FakeModel]; got.Requests != 2 || got.OutputTokens != 4 || got.InputTokens == 0 {
		t.Errorf("got %+v", got)
	}
	closed(t, l)
	l = reopen(t, l.Path())
	if diff := cmp.Diff(want, l.Accounting("go")); diff != "" {
		t.Error(diff)
	}
	closed(t, l)
}

// TestCachedReplies: lookups and what they saved are counted, and survive.
func TestCachedReplies(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Script(llmtest.Reply{Text: "Blue.", Input: 10, Output: 20}))
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: model, BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := llm.OpenCache(t.TempDir(), llm.CacheWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := create(t, new(llm.Dollar))
	m, err := metered(l, p, llm.DefaultPrices(), ledger.Actor, "go")
	if err != nil {
		t.Fatal(err)
	}
	cached := cache.Wrap(m, srv.URL)
	for range 3 {
		r := llm.Request{Model: model, MaxTokens: 50, Messages: []llm.Message{{Role: "user", Content: "Which?"}}}
		if _, err := cached.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, l)
	l = reopen(t, l.Path())
	const paid = 10*2_500 + 20*10_000
	got := l.Accounting("go")
	if got.ActorUSD != paid || got.CachedSavingsUSD != 2*paid || got.CacheHits != 2 || got.CacheMisses != 1 || got.Tokens[model].Requests != 1 {
		t.Errorf("%+v", got)
	}
	closed(t, l)
}

func TestSettleCountsOnce(t *testing.T) {
	l := create(t, new(llm.USD(1000)))
	settle := reserve(t, l.Account(ledger.Actor, "go"), 100)
	settle(cost(50))
	settle(cost(60))
	if l.Spent() != 50 {
		t.Errorf("spent %s", l.Spent())
	}
	closed(t, l)
}

// TestEveryCut: whatever a kill leaves of the file, it can be opened, and what was spent is at most
// the cap and at least what had been settled.
func TestEveryCut(t *testing.T) {
	l := create(t, new(llm.USD(1000)))
	fill(t, l)
	closed(t, l)
	all := filetest.Read(t, l.Path())
	path := filepath.Join(t.TempDir(), "cut.ledger")
	for n := bytes.IndexByte(all, '\n') + 1; n <= len(all); n++ {
		filetest.Write(t, path, all[:n])
		l := reopen(t, path)
		addsUp(t, l, "go", "ts")
		settled := llm.USD(0)
		if bytes.Contains(all[:n], []byte("200}\n")) {
			settled = 100
		}
		if spent := l.Spent(); spent > 1000 || spent < settled {
			t.Fatalf("cut at byte %d: spent %s", n, spent)
		}
		closed(t, l)
	}
}

func TestDamage(t *testing.T) {
	const start = `{"kind":"replay","version":1,"started_at":"2026-11-22T01:02:03Z","cap_usd":2.00}` + "\n"
	const held = `{"kind":"reserve","id":1,"phase":"actor","arm":"go","model":"m","usd":0.50}` + "\n"
	const done = `{"kind":"settle","id":1,"phase":"actor","arm":"go","model":"m","usd":0.10}` + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":          {"", "contains no replay"},
		"cut":            {strings.TrimSuffix(start, "\n"), "contains no replay"},
		"another file":   {`{"kind":"run"}` + "\n", ":1: not a ledger"},
		"text":           {"hello\n", ":1: not a ledger"},
		"newer":          {strings.Replace(start, `n":1`, `n":2`, 1), ":1: the ledger has version 2, this evalctl writes 1"},
		"not JSON":       {start + held + "{\n" + done, ":3: the ledger is damaged"},
		"settled twice":  {start + held + done + done, `:4: the ledger is damaged: a line of kind "settle"`},
		"not reserved":   {start + done, `:2: the ledger is damaged: a line of kind "settle"`},
		"reserved twice": {start + held + held, `:3: the ledger is damaged: a line of kind "reserve"`},
		"another arm":    {start + held + strings.Replace(done, "go", "ts", 1), `:3: the ledger is damaged`},
		"unknown kind":   {start + `{"kind":"refund","usd":1}` + "\n", `:2: the ledger is damaged: a line of kind "refund"`},
		"unknown phase":  {start + strings.Replace(held, "actor", "other", 1), `:2: the ledger is damaged`},
		"refund":         {start + held + strings.Replace(done, "0.10", "-0.10", 1), `:3: the ledger is damaged`},
		"lost":           {start + held + strings.Replace(done, "}", `,"lost_usd":0.20}`, 1), `:3: the ledger is damaged`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filetest.Write(t, filepath.Join(t.TempDir(), "a.ledger"), tt.text)
			_, err := ledger.Open(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
			if kept, _ := os.ReadFile(path); string(kept) != tt.text {
				t.Errorf("changed to %s", kept)
			}
		})
	}
}

func TestOneOwner(t *testing.T) {
	l := create(t, nil)
	if _, err := ledger.Open(l.Path()); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := ledger.Create(l.Path(), nil, started, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := ledger.Open(l.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
}

// TestFullDisk: once a line could not be written, no request is made.
func TestFullDisk(t *testing.T) {
	l := create(t, new(llm.USD(1000)))
	a := l.Account(ledger.Actor, "go")
	settle := reserve(t, a, 100)
	closed(t, l) // so that further writes fail
	settle(cost(50))
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), l.Path()) {
		t.Errorf("got %v", err)
	}
	for _, worst := range []llm.USD{0, 1} {
		if _, err := a.Reserve(t.Context(), model, worst); err == nil || err.Error() != l.Err().Error() {
			t.Errorf("reserve %d: %v", worst, err)
		}
	}
	if l = reopen(t, l.Path()); l.Spent() != 100 || l.Accounting("").LostUSD != 100 {
		t.Errorf("%+v", l.Accounting(""))
	}
	closed(t, l)
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	l := create(t, new(llm.USD(100)))
	a := l.Account(ledger.Actor, "go")
	settle := reserve(t, a, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Reserve(ctx, model, 50); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	settle(cost(100))
	closed(t, l)
}

func ExampleLedger() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Create(filepath.Join(dir, "replay.ledger"), nil, started, new(20*llm.Dollar))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	m, err := metered(l, llm.NewFake(), llm.DefaultPrices(), ledger.Actor, "go")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Complete(context.Background(), llm.Request{
		Model: llm.FakeModel, MaxTokens: 10, Fake: func() string { return "Blue." },
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "Which colour?"}},
	})
	fmt.Println(err, l.Spent(), l.Accounting("go").Tokens[llm.FakeModel].OutputTokens)
	// Output: <nil> $0.00 2
}
