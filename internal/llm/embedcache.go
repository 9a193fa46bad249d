package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
)

// missBatch is how many texts are embedded before their vectors are stored, so that a later failure
// does not cost them again.
const missBatch = embedsInFlight * maxEmbedTexts

// vectors stores vectors by key. get leaves nil for missing keys; the caller may modify the vectors
// that it returns.
type vectors interface {
	get(keys []CacheKey) ([][]float32, error)
	put(keys []CacheKey, vectors [][]float32) error
}

// EmbedCache is an Embedder that asks another one only for new texts. Vectors are stored under the
// embedder's name and the text, so a cache must be deleted when the model behind a name changes. A
// change of dimensions is an error. It is safe for concurrent use.
type EmbedCache struct {
	embedder         Embedder
	kept             vectors
	where            string
	cached, embedded atomic.Int64 // texts
}

// NewEmbedCache returns a cache in memory. It keeps about 64 MB of the most recently used vectors.
func NewEmbedCache(e Embedder) *EmbedCache {
	return &EmbedCache{embedder: e, kept: newMemoryVectors(memoryCacheBytes), where: "the cache in memory"}
}

// OpenEmbedCache returns a cache in a folder, which is created if it does not exist. Each vector is
// a file named by the hash of its text and its embedder. The files unused for longest are removed
// when all of them exceed maxBytes; 0 means no limit. Several processes may use a folder at once,
// and it may be deleted at any time. A damaged file is removed with a warning in the log, and its
// vector is computed again.
func OpenEmbedCache(e Embedder, dir string, maxBytes int64, log *slog.Logger) (*EmbedCache, error) {
	kept, err := openVectorFiles(dir, maxBytes, log)
	if err != nil {
		return nil, fmt.Errorf("embedding cache %s: %w", dir, err)
	}
	return &EmbedCache{embedder: e, kept: kept, where: dir}, nil
}

// EmbedStats counts the texts that were in the cache and those that were embedded, with the cost of
// the latter.
type EmbedStats struct {
	Cached, Embedded int64
	Tokens           int64 // that the provider has counted
	// Uncounted are the texts of responses without a count of tokens.
	Uncounted int64
}

// Stats returns the counts so far.
func (c *EmbedCache) Stats() EmbedStats {
	s := EmbedStats{Cached: c.cached.Load(), Embedded: c.embedded.Load()}
	if e, ok := c.embedder.(interface {
		Tokens() (tokens, uncounted int64)
	}); ok {
		s.Tokens, s.Uncounted = e.Tokens()
	} else {
		s.Uncounted = s.Embedded
	}
	return s
}

// Model returns the provider of the vectors and its name of the model.
func (c *EmbedCache) Model() (provider, model string) {
	provider, model, _ = strings.Cut(c.Name(), "/")
	if at := strings.LastIndex(model, "@http"); at > 0 {
		model = model[:at]
	}
	return provider, model
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

// Embed also stores the vectors that the embedder returns together with an error.
func (c *EmbedCache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	keys := make([]CacheKey, len(texts))
	for i, text := range texts {
		keys[i] = sha256.Sum256([]byte(c.embedder.Name() + "\x00" + text))
	}
	out, err := c.kept.get(keys)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.where, err)
	}
	var missing []int           // index of the first occurrence of each new text
	first := map[CacheKey]int{} // the same by key
	for i, v := range out {
		if _, again := first[keys[i]]; v == nil && !again {
			first[keys[i]] = i
			missing = append(missing, i)
		}
	}
	c.cached.Add(int64(len(texts) - len(missing)))
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

// embedMissing embeds the texts at the given indexes and stores their vectors. It puts the
// embedder's errors for single texts into refused.
func (c *EmbedCache) embedMissing(ctx context.Context, texts []string, keys []CacheKey,
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
	var madeKeys []CacheKey
	var made [][]float32
	for i, at := range places {
		if out[at] = got[i]; got[i] != nil {
			madeKeys, made = append(madeKeys, keys[at]), append(made, got[i])
		}
	}
	c.embedded.Add(int64(len(made)))
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
