package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

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
	c, err := OpenEmbedCache(e, path, slog.New(slog.NewTextHandler(log, nil)))
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
			defer c.Close()
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
	path := filepath.Join(t.TempDir(), "e.db")
	c := openCache(t, newCounting("e"), path, t.Output())
	embed(t, c, "a", "b")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	e := newCounting("e")
	c = openCache(t, e, path, t.Output())
	embed(t, c, "b", "a")
	if err := c.Close(); err != nil || len(e.asked) != 0 {
		t.Errorf("asked %q again, %v", e.asked, err)
	}
	other := newCounting("other") // has its own vectors
	c = openCache(t, other, path, t.Output())
	defer c.Close()
	if embed(t, c, "a"); len(other.asked) != 1 {
		t.Errorf("asked %q", other.asked)
	}
	if _, err := OpenEmbedCache(e, path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), path+": another process has had it open") {
		t.Errorf("a second opening: %v", err)
	}
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
	defer c.Close()
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
	defer c.Close()
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
	group.Wait()
}

// Damaging any byte of a small file costs at most the cache: the process goes on, and no vector is
// wrong.
func TestEmbedCacheDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "e.db")
	c := openCache(t, newCounting("e"), path, t.Output())
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprint(i))
	}
	embed(t, c, texts...)
	for range 2 { // further commits move the list of free pages away from the end
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = openCache(t, newCounting("e"), path, t.Output())
	}
	var used int64
	if err := c.kept.(*fileVectors).db.View(func(tx *bbolt.Tx) error { used = tx.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{
		"garbage": bytes.Repeat([]byte("no database "), 5000), "short garbage": []byte("x"), "zeros": make([]byte, len(whole)),
	}
	for size := 4096; size < len(whole); size += 4096 {
		damage[fmt.Sprintf("cut at %d", size)] = whole[:size]
		holed := slices.Clone(whole)
		copy(holed[size:], bytes.Repeat([]byte{0xA5}, 4096))
		damage[fmt.Sprintf("hole at %d", size)] = holed
	}
	for name, content := range damage {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		c := openCache(t, newCounting("e"), path, &log)
		got, err := c.Embed(t.Context(), texts)
		switch {
		case err != nil && !strings.Contains(err.Error(), "damaged"):
			t.Errorf("%s: %v", name, err)
		case err == nil && !cmp.Equal(got, wantVectors(texts)):
			t.Errorf("%s: wrong vectors", name)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		if strings.Contains(name, "garbage") || strings.Contains(name, "cut") && int64(len(content)) < used {
			aside, err := os.ReadFile(path + ".damaged")
			if err != nil || !bytes.Equal(aside, content) || !strings.Contains(log.String(), "was replaced") {
				t.Errorf("%s: not renamed: %v, log %q", name, err, log.String())
			}
		}
	}
}

func TestEmbedCacheDamagedVector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.db")
	e := newCounting("e")
	c := openCache(t, e, path, t.Output())
	defer c.Close()
	embed(t, c, "a")
	err := c.kept.(*fileVectors).db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(vectorBucket)
		key, value := b.Cursor().First()
		flipped := slices.Clone(value)
		flipped[5] ^= 1
		return b.Put(slices.Clone(key), flipped)
	})
	if err != nil {
		t.Fatal(err)
	}
	embed(t, c, "a")
	if embed(t, c, "a"); len(e.asked) != 2 {
		t.Errorf("asked %q", e.asked)
	}
}

func TestEmbedCacheCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "file", "e.db"), dir} {
		_, err := OpenEmbedCache(newCounting("e"), path, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Stat(dir + ".damaged"); err == nil {
			t.Error("a directory was renamed")
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
			key := cacheKey{b}
			got, _ := m.get([]cacheKey{key})
			if known := slices.Contains(used, b); known != (got[0] != nil) {
				rt.Fatalf("key %d: known %v, got %v, used %v", b, known, got[0], used)
			}
			if got[0] == nil {
				if err := m.put([]cacheKey{key}, [][]float32{{float32(b), 1}}); err != nil {
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
	c, err := OpenEmbedCache(NewFakeEmbedder(), filepath.Join(b.TempDir(), "e.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
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
