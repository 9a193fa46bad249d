package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm/llmtest"
)

// countingEmbedder records the texts that it embeds and fails on demand.
type countingEmbedder struct {
	name   string
	vector func(text string) []float32
	fail   func(texts []string) error

	mu    sync.Mutex
	asked []string
}

func (e *countingEmbedder) Name() string { return e.name }

func (e *countingEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.fail != nil {
		if err := e.fail(texts); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, texts...)
	var out [][]float32
	for _, text := range texts {
		out = append(out, e.vector(text))
	}
	return out, nil
}

func newCounting(name string) *countingEmbedder {
	return &countingEmbedder{name: name, vector: llmtest.Vector}
}

func openCache(t *testing.T, e Embedder, path string, log io.Writer) *EmbedCache {
	t.Helper()
	c, err := OpenEmbedCache(e, path, 0, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func embed(t *testing.T, c *EmbedCache, texts ...string) [][]float32 {
	t.Helper()
	got, err := c.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantVectors(texts), got); diff != "" {
		t.Fatal(diff)
	}
	return got
}

func TestEmbedCache(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, Embedder) *EmbedCache{
		"memory": func(_ *testing.T, e Embedder) *EmbedCache { return NewEmbedCache(e) },
		"file": func(t *testing.T, e Embedder) *EmbedCache {
			return openCache(t, e, filepath.Join(t.TempDir(), "cache", "e.db"), t.Output())
		},
	} {
		t.Run(kind, func(t *testing.T) {
			e := newCounting("e")
			c := open(t, e)
			if none, err := c.Embed(t.Context(), nil); err != nil || len(none) != 0 {
				t.Errorf("no texts: %v, %v", none, err)
			}
			embed(t, c, "a", "b", "a")
			got := embed(t, c, "c", "b", "a", "", "c")
			got[1][0] = 99 // the caller may modify it
			embed(t, c, "b")
			if want := []string{"a", "b", "c", ""}; !slices.Equal(e.asked, want) {
				t.Errorf("asked %q, want %q", e.asked, want)
			}
			if c.Name() != "e" {
				t.Errorf("the name is %s", c.Name())
			}
		})
	}
}

func TestEmbedCacheLasts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "embeddings")
	c := openCache(t, newCounting("e"), dir, t.Output())
	embed(t, c, "a", "b", "a")
	if got := c.Stats(); got != (EmbedStats{Cached: 1, Embedded: 2, Uncounted: 2}) {
		t.Errorf("got %+v", got)
	}
	e := newCounting("e")
	c = openCache(t, e, dir, t.Output()) // at the same time
	embed(t, c, "b", "a")
	if got := c.Stats(); got != (EmbedStats{Cached: 2}) || len(e.asked) != 0 {
		t.Errorf("asked %q again, %+v", e.asked, got)
	}
	other := newCounting("other") // has its own vectors
	c = openCache(t, other, dir, t.Output())
	if embed(t, c, "a"); len(other.asked) != 1 {
		t.Errorf("asked %q", other.asked)
	}
}

// TestEmbedCacheLimit: the vectors unused for longest make room.
func TestEmbedCacheLimit(t *testing.T) {
	dir := t.TempDir()
	e := newCounting("e")
	c, err := OpenEmbedCache(e, dir, 16*block, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		embed(t, c, fmt.Sprint(i))
	}
	files := cacheFiles(t, dir)
	if len(files) == 0 || len(files) > 16 {
		t.Errorf("%d files are kept", len(files))
	}
	if embed(t, c, "99"); len(e.asked) != 100 {
		t.Errorf("the last vector was embedded again")
	}
}

func cacheFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Texts that were embedded before a failure are not paid for again.
func TestEmbedCacheKeepsPartOfAFailedCall(t *testing.T) {
	var texts []string
	for i := range missBatch + 1 {
		texts = append(texts, fmt.Sprint(i))
	}
	e := newCounting("e")
	broken := errors.New("broken")
	e.fail = func(texts []string) error {
		if len(texts) < missBatch {
			return broken
		}
		return nil
	}
	c := openCache(t, e, filepath.Join(t.TempDir(), "e.db"), t.Output())
	if _, err := c.Embed(t.Context(), texts); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	e.fail = nil
	if embed(t, c, texts...); len(e.asked) != len(texts) {
		t.Errorf("asked for %d texts, want %d", len(e.asked), len(texts))
	}
}

func TestEmbedCacheChecksDimensions(t *testing.T) {
	e := newCounting("e")
	c := NewEmbedCache(e)
	embed(t, c, "a")
	e.vector = func(string) []float32 { return []float32{1} }
	if _, err := c.Embed(t.Context(), []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), "3 and of 1 dimensions") {
		t.Error(err)
	}
}

func TestEmbedCacheConcurrently(t *testing.T) {
	c := openCache(t, newCounting("e"), filepath.Join(t.TempDir(), "e.db"), t.Output())
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 5 {
				texts := []string{fmt.Sprint(i), fmt.Sprint(i + g), "all"}
				if got, err := c.Embed(t.Context(), texts); err != nil || !cmp.Equal(got, wantVectors(texts)) {
					t.Errorf("%q: %v, %v", texts, got, err)
				}
			}
		})
	}
	awaittest.Wait(t, "group", group.Wait)
}

// A damaged file costs its vector only: it is computed again, and none is wrong.
func TestEmbedCacheDamaged(t *testing.T) {
	dir := t.TempDir()
	embed(t, openCache(t, newCounting("e"), dir, t.Output()), "a")
	files := cacheFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{
		"empty": {}, "garbage": []byte("no vector"), "longer": append(bytes.Clone(whole), 0, 0, 0, 0),
	}
	for i := range whole {
		damage[fmt.Sprintf("cut at %d", i)] = whole[:i]
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		if i != 64 { // the line feed after the hash
			damage[fmt.Sprintf("flipped at %d", i)] = flipped
		}
	}
	for name, content := range damage {
		if err := os.WriteFile(files[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		e := newCounting("e")
		embed(t, openCache(t, e, dir, &log), "a")
		if len(e.asked) != 1 || !strings.Contains(log.String(), "damaged") {
			t.Errorf("%s: asked %q, log %q", name, e.asked, log.String())
		}
		if embed(t, openCache(t, e, dir, &log), "a"); len(e.asked) != 1 {
			t.Errorf("%s: asked again", name)
		}
	}
}

func TestEmbedCacheCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "embeddings"), file} {
		_, err := OpenEmbedCache(newCounting("e"), path, 0, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The cache in memory respects its limit and evicts what was not used.
func TestMemoryVectorsProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const room = 5
		one := (&memoryVector{vector: make([]float32, 2)}).bytes()
		m := newMemoryVectors(room * one)
		var used []byte // most recently used first
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			b := byte(rapid.IntRange(0, 9).Draw(rt, "key"))
			key := CacheKey{b}
			got, _ := m.get([]CacheKey{key})
			if known := slices.Contains(used, b); known != (got[0] != nil) {
				rt.Fatalf("key %d: known %v, got %v, used %v", b, known, got[0], used)
			}
			if got[0] == nil {
				if err := m.put([]CacheKey{key}, [][]float32{{float32(b), 1}}); err != nil {
					rt.Fatal(err)
				}
			} else if got[0][0] != float32(b) {
				rt.Fatalf("key %d: %v", b, got[0])
			}
			used = slices.DeleteFunc(used, func(x byte) bool { return x == b })
			used = slices.Insert(used, 0, b)
			used = used[:min(room, len(used))]
			if m.bytes != len(used)*one || len(m.byKey) != len(used) {
				rt.Fatalf("%d bytes of %d vectors, want %d", m.bytes, len(m.byKey), len(used))
			}
		}
	})
}

func FuzzDecodeVector(f *testing.F) {
	f.Add(encodeVector([]float32{1, -2.5}))
	f.Add([]byte{})
	f.Add([]byte("123456789abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := decodeVector(data); v != nil && !bytes.Equal(encodeVector(v), data) {
			t.Fatalf("%v is not what %x says", v, data)
		}
	})
}

func BenchmarkEmbedCacheHits(b *testing.B) {
	c, err := OpenEmbedCache(NewFakeEmbedder(), filepath.Join(b.TempDir(), "e"), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, 128)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	for b.Loop() {
		if _, err := c.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
