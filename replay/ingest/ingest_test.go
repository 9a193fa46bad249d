package ingest

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/internal/filetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFill fills one brain for each haystack, or one for all, in both modes, and finds the gold.
func TestFill(t *testing.T) {
	b := bench(t, instances)
	url := serve(t, nil).URL
	for _, c := range []struct {
		name   string
		mode   Mode
		shared string
		want   result.Ingest
	}{
		{"bulk", Bulk, "", result.Ingest{Mode: "bulk", Brains: 2, Sessions: 5, Documents: 5}},
		{"bulk, shared", Bulk, "pool",
			result.Ingest{Mode: "bulk", Shared: true, Brains: 1, Sessions: 5, Documents: 5}},
		{"replay", Replay, "", result.Ingest{Mode: "replay", Brains: 2, Sessions: 5, Messages: 11}},
		{"replay, shared", Replay, "pool",
			result.Ingest{Mode: "replay", Shared: true, Brains: 1, Sessions: 5, Messages: 11}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, url, c.mode)
			cfg.Shared = c.shared
			var sessions atomic.Int64
			cfg.Progress = func(n int) { sessions.Add(int64(n)) }
			f := fill(t, cfg, b, all(b)...)
			diff := cmp.Diff(c.want, f.Report, cmpopts.IgnoreFields(result.Ingest{}, "Seconds", "Signature"))
			if diff != "" || sessions.Load() != 5 || len(f.Report.Signature) != 64 || f.Report.Seconds <= 0 {
				t.Errorf("%d sessions, %+v\n%s", sessions.Load(), f.Report, diff)
			}
			for _, q := range b.Questions {
				got := retrieved(t, cfg, f, q.Dataset(), 5)
				if len(got) == 0 || !slices.Contains(q.Gold, got[0]) {
					t.Errorf("question %s: gold %q, found %q", q.ID, q.Gold, got)
				}
			}
			if f.Err() != nil {
				t.Error(f.Err())
			}
		})
	}
}

// TestSharedTwins asks for a session that two haystacks in one brain have. Its text is found once,
// in either of them.
func TestSharedTwins(t *testing.T) {
	b := bench(t, instances)
	cfg := config(t, serve(t, nil).URL, Bulk)
	cfg.Shared = "pool"
	f := fill(t, cfg, b, all(b)...)
	q := b.Questions[1].Dataset()
	chunks := search(t, cfg, f, q, 5)
	if len(chunks) == 0 || len(chunks[0].Duplicates) != 1 {
		t.Fatalf("found %+v", chunks)
	}
	if got := f.Documents(q, chunks[0], q.Item().Gold); !slices.Equal(got, b.Questions[1].Gold) {
		t.Errorf("got %q", got)
	}
	// A daemon that names the gold as a duplicate of another text does not find it.
	wrong := result.Chunk{Path: "x.md", Text: "Another text.", Duplicates: chunks[0].Duplicates}
	wrong.Duplicates = append(wrong.Duplicates, chunks[0].Path, b.Questions[1].Gold[0])
	if got := f.Documents(q, wrong, q.Item().Gold); !slices.Equal(got, []string{"x.md"}) {
		t.Errorf("got %q", got)
	}
}

// TestNone uses brains that are filled, and names those that are missing.
func TestNone(t *testing.T) {
	b := bench(t, instances)
	cfg := config(t, serve(t, nil).URL, None)
	_, err := Fill(t.Context(), cfg, b, all(b))
	if !errors.Is(err, seed.ErrMissing) || !strings.Contains(err.Error(), `brain "q1-`) ||
		!strings.Contains(err.Error(), `brain "q2-`) || !strings.Contains(err.Error(), "mode bulk") {
		t.Fatalf("got %v", err)
	}
	for _, info := range b.Infos() {
		h, err := b.Haystack(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		remote := seed.NewBrain(cfg.Service, cfg.Dialect, info.Brain)
		if err := errors.Join(remote.Create(t.Context()), remote.Seed(t.Context(), h.Documents(), 1)); err != nil {
			t.Fatal(err)
		}
	}
	f := fill(t, cfg, b, all(b)...)
	if f.Report.Brains != 2 || f.Report.Reused != 0 || f.Report.Signature != "" || f.Report.Documents != 0 {
		t.Errorf("got %+v", f.Report)
	}
	q := b.Questions[0].Dataset()
	if got := retrieved(t, cfg, f, q, 5); got[0] != b.Questions[0].Gold[0] {
		t.Errorf("got %q", got)
	}
}

// TestFailedFill checks that brains that are not completely filled are removed, and others too
// unless they would be found again.
func TestFailedFill(t *testing.T) {
	b := bench(t, instances)
	for _, kept := range []bool{false, true} {
		first := make(chan struct{}) // closed when the first brain is filled
		var once sync.Once
		s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
			if strings.Contains(r.URL.Path, "/q2-") && strings.Contains(r.URL.Path, "/documents") {
				<-first
				problem(w, http.StatusInsufficientStorage)
				return
			}
			d.ServeHTTP(w, r)
		})
		cfg := config(t, s.URL, Bulk)
		cfg.Progress = func(int) { once.Do(func() { close(first) }) }
		want := 0
		if kept {
			want = 1
			cfg.Record = filepath.Join(t.TempDir(), "brains.json")
		}
		_, err := Fill(t.Context(), cfg, b, all(b))
		if err == nil || !strings.Contains(err.Error(), "507") || !strings.Contains(err.Error(), `fill brain "q2-`) {
			t.Fatalf("got %v", err)
		}
		if n := brainsOf(t, cfg); n > want {
			t.Errorf("kept %v: %d brains are left", kept, n)
		}
	}
}

// TestInterruptedFill checks that an interrupted replay leaves no brain that is not recorded, and
// that it goes on with those that are.
func TestInterruptedFill(t *testing.T) {
	b := bench(t, instances)
	for _, m := range []Mode{Bulk, Replay} {
		s := serve(t, nil)
		cfg := config(t, s.URL, m)
		cfg.Concurrency = 1
		seeded := map[string]bool{}
		cfg.Seeded = func(name string) bool { return seeded[name] }
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the user")
		cfg.MarkSeeded = func(name string) error {
			seeded[name] = true
			cancel(stopped)
			return nil
		}
		if _, err := Fill(ctx, cfg, b, all(b)); !errors.Is(err, stopped) {
			t.Fatalf("got %v", err)
		}
		if n := brainsOf(t, cfg); n != 1 || len(seeded) != 1 {
			t.Fatalf("%d brains are left, %v are marked", n, seeded)
		}
		f := fill(t, cfg, b, all(b)...)
		if f.Report.Reused != 0 || s.creates.Load() != 2 || len(seeded) != 2 || f.Report.Sessions != 5 {
			t.Errorf("%d brains were created, %+v", s.creates.Load(), f.Report)
		}
	}
}

// TestReuse checks when a brain that an earlier replay has filled is used again.
func TestReuse(t *testing.T) {
	b := bench(t, instances)
	for _, m := range []Mode{Bulk, Replay} {
		s := serve(t, nil)
		cfg := config(t, s.URL, m)
		cfg.Record = filepath.Join(t.TempDir(), "cache", "brains.json")
		q := b.Questions[0].Dataset()
		first := fill(t, cfg, b, "q1")
		if first.Report.Reused != 0 {
			t.Errorf("reused %d", first.Report.Reused)
		}
		again := fill(t, cfg, b, "q1", "q2")
		if again.Report.Reused != 1 || again.Brains[q.Brain] != first.Brains[q.Brain] ||
			again.Report.Signature == first.Report.Signature {
			t.Errorf("got %+v", again)
		}
		third := fill(t, cfg, b, "q2", "q1")
		if third.Report.Reused != 2 || third.Report.Signature != again.Report.Signature {
			t.Errorf("got %+v", third.Report)
		}
		if got := retrieved(t, cfg, third, q, 5); got[0] != q.Item().Gold[0].Path {
			t.Errorf("a reused brain finds %q", got)
		}
		for name, change := range map[string]func(*Config){
			"build":         func(c *Config) { c.Daemon.Build = "2" },
			"model":         func(c *Config) { c.Daemon.Models = []string{"fake"} },
			"shared":        func(c *Config) { c.Shared = "q1" },
			"mode":          func(c *Config) { c.Mode = map[Mode]Mode{Bulk: Replay, Replay: Bulk}[c.Mode] },
			"unknown build": func(c *Config) { c.Daemon.Build = "" },
		} {
			other := cfg
			change(&other)
			if f := fill(t, other, b, "q1"); f.Report.Reused != 0 || f.Brains[q.Brain] == first.Brains[q.Brain] {
				t.Errorf("another %s: %+v", name, f)
			}
		}
		unknown := cfg
		unknown.Daemon.Build = ""
		if f := fill(t, unknown, b, "q1"); f.Report.Reused != 0 {
			t.Errorf("a brain of an unknown build was reused: %+v", f.Report)
		}
		forge(t, cfg.Record)
		if f := fill(t, cfg, b, "q1"); f.Report.Reused != 0 {
			t.Errorf("a brain with another signature was reused: %+v", f.Report)
		}
		fill(t, cfg, b, "q2")
		lost := seed.NewBrain(cfg.Service, cfg.Dialect, first.Brains[q.Brain])
		if err := lost.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f := fill(t, cfg, b, "q1", "q2"); f.Report.Reused != 1 {
			t.Errorf("a brain that is gone was reused: %+v", f.Report)
		}
		if f := fill(t, cfg, b, "q1", "q2"); f.Report.Reused != 2 {
			t.Errorf("the brain was not filled again: %+v", f.Report)
		}
	}
}

// forge changes the ends of all signatures in a record.
func forge(t *testing.T, path string) {
	t.Helper()
	text := filetest.Read(t, path)
	forged := regexp.MustCompile(`[0-9a-f]{4}",`).ReplaceAll(text, []byte(`0000",`))
	filetest.Write(t, path, forged)
}

// TestUnknownRest checks that what an interrupted replay has left in a brain is deleted.
func TestUnknownRest(t *testing.T) {
	b := bench(t, instances)
	cfg := config(t, serve(t, nil).URL, Bulk)
	f := fill(t, cfg, b, "q1")
	remote := seed.NewBrain(cfg.Service, cfg.Dialect, f.Brains[b.Questions[0].Brain])
	h, err := b.Haystack("q2")
	if err != nil {
		t.Fatal(err)
	}
	docs := h.Documents()
	if err := errors.Join(remote.Find(t.Context()), remote.Write(t.Context(), docs, 1)); err != nil {
		t.Fatal(err)
	}
	if f, err = Fill(t.Context(), cfg, b, []string{"q1"}); err != nil {
		t.Fatal(err)
	}
	q := b.Questions[1].Dataset()
	q.Brain = b.Questions[0].Brain
	if got := retrieved(t, cfg, f, q, 20); slices.Contains(got, docs[0].Path) || len(got) > 3 {
		t.Errorf("found %q", got)
	}
}

func TestRejects(t *testing.T) {
	b := bench(t, instances)
	record := filetest.Write(t, filepath.Join(t.TempDir(), "brains.json"), "{")
	for want, change := range map[string]func(*Config){
		"unknown ingest mode":   func(c *Config) { c.Mode = "slow" },
		"shared brain":          func(c *Config) { c.Shared = "A/B" },
		record + ": unexpected": func(c *Config) { c.Record = record },
	} {
		cfg := config(t, "http://127.0.0.1:1", Bulk)
		change(&cfg)
		if _, err := Fill(t.Context(), cfg, b, all(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	busy, err := OpenRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	cfg := config(t, "http://127.0.0.1:1", Bulk)
	cfg.Record = record
	if _, err := Fill(t.Context(), cfg, b, all(b)); err == nil || !strings.Contains(err.Error(), "another replay is filling") {
		t.Errorf("got %v", err)
	}
	cfg.Record = ""
	if _, err := Fill(t.Context(), cfg, b, []string{"q9"}); err == nil || !strings.Contains(err.Error(), `no haystack "q9"`) {
		t.Errorf("got %v", err)
	}
}
