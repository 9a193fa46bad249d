package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// missBatch is how many texts are embedded before their vectors are stored, so that a later failure
// does not cost them again.
const missBatch = embedsInFlight * maxEmbedTexts

// cacheKey is the hash of an embedder's name and a text.
type cacheKey [sha256.Size]byte

// vectors stores vectors by key. get leaves nil for missing keys; the caller may modify the vectors
// that it returns.
type vectors interface {
	get(keys []cacheKey) ([][]float32, error)
	put(keys []cacheKey, vectors [][]float32) error
	close() error
}

// EmbedCache is an Embedder that asks another one only for texts that it has not seen before.
// Vectors are stored under the embedder's name and the text, so a cache must be deleted when the
// model behind a name changes; a change of dimensions is detected. It is safe for concurrent use.
type EmbedCache struct {
	embedder Embedder
	kept     vectors
	where    string
}

// NewEmbedCache returns a cache in memory. It keeps the most recently used vectors, about 64 MB of
// them.
func NewEmbedCache(e Embedder) *EmbedCache {
	return &EmbedCache{embedder: e, kept: newMemoryVectors(memoryCacheBytes), where: "the cache in memory"}
}

// OpenEmbedCache returns a cache in the file at path, which is created if it does not exist and
// grows without limit. The file contains only what can be computed again, so it may be deleted
// while no process has it open. Only one process can open it at a time: another gets an error after
// a second. A damaged file is renamed to path + ".damaged" and replaced with a new one, and a
// warning is logged.
func OpenEmbedCache(e Embedder, path string, log *slog.Logger) (*EmbedCache, error) {
	kept, err := openFileVectors(path, log)
	if err != nil {
		return nil, fmt.Errorf("embedding cache %s: %w", path, err)
	}
	return &EmbedCache{embedder: e, kept: kept, where: path}, nil
}

// Name is the embedder's.
func (c *EmbedCache) Name() string { return c.embedder.Name() }

// FusionWeight returns the embedder's own weight in a fusion of rankings, or 0 if it has none.
func (c *EmbedCache) FusionWeight() float64 {
	if e, ok := c.embedder.(interface{ FusionWeight() float64 }); ok {
		return e.FusionWeight()
	}
	return 0
}

// Close closes the file. Embed must not be running, and must not be called again.
func (c *EmbedCache) Close() error { return c.kept.close() }

// Embed also stores the vectors that the embedder returns together with an error.
func (c *EmbedCache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	keys := make([]cacheKey, len(texts))
	for i, text := range texts {
		keys[i] = sha256.Sum256([]byte(c.embedder.Name() + "\x00" + text))
	}
	out, err := c.kept.get(keys)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.where, err)
	}
	var missing []int           // index of the first occurrence of each new text
	first := map[cacheKey]int{} // the same by key
	for i, v := range out {
		if _, again := first[keys[i]]; v == nil && !again {
			first[keys[i]] = i
			missing = append(missing, i)
		}
	}
	refused := make([]error, len(texts))
	for places := range slices.Chunk(missing, missBatch) {
		if err := c.embedMissing(ctx, texts, keys, out, refused, places); err != nil {
			return nil, err
		}
	}
	for i, v := range out {
		if at := first[keys[i]]; v == nil {
			out[i], refused[i] = slices.Clone(out[at]), refused[at]
		}
	}
	if err := c.checkDimensions(out); err != nil {
		return nil, err
	}
	return out, refusedTexts(refused)
}

func (c *EmbedCache) checkDimensions(vectors [][]float32) error {
	n := 0 // of the first vector
	for _, v := range vectors {
		if n = cmp.Or(n, len(v)); v != nil && len(v) != n {
			return fmt.Errorf("%s has vectors of %d and of %d dimensions under the name %s: "+
				"the model behind it has changed, so delete the cache",
				c.where, n, len(v), quote(c.Name()))
		}
	}
	return nil
}

// embedMissing embeds the texts at the given indexes and stores their vectors. The embedder's
// errors for single texts are put into refused.
func (c *EmbedCache) embedMissing(ctx context.Context, texts []string, keys []cacheKey,
	out [][]float32, refused []error, places []int) error {
	ask := make([]string, len(places))
	for i, at := range places {
		ask[i] = texts[at]
	}
	got, err := c.embedder.Embed(ctx, ask)
	refusal, partly := errors.AsType[*refusedError](err)
	if len(got) != len(ask) {
		return cmp.Or(err, fmt.Errorf("embedder %s returned %d vectors for %d texts",
			c.Name(), len(got), len(ask)))
	}
	var madeKeys []cacheKey
	var made [][]float32
	for i, at := range places {
		if out[at] = got[i]; got[i] != nil {
			madeKeys, made = append(madeKeys, keys[at]), append(made, got[i])
		}
	}
	if err := c.kept.put(madeKeys, made); err != nil {
		return fmt.Errorf("write %s: %w", c.where, err)
	}
	if !partly {
		return err
	}
	for _, i := range refusal.Refused() {
		refused[places[i]] = refusal.Unwrap()
	}
	return nil
}
