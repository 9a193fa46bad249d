package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// CacheMode says how a cache of replies is used.
type CacheMode string

// The modes of a cache.
const (
	CacheOff   CacheMode = "off"
	CacheRead  CacheMode = "read"  // use cached replies, store none
	CacheWrite CacheMode = "write" // use and store
	CacheOnly  CacheMode = "only"  // a reply that is not cached is an error: nothing is sent or paid
)

// DefaultCacheBytes is the usual size limit of a cache.
const DefaultCacheBytes = 2 << 30

// ErrNotCached means that a cache in mode CacheOnly has no reply to a request.
var ErrNotCached = errors.New("no cached reply")

// Cache keeps replies of models in a folder, so that the same request is paid once. Requests are
// the same if they agree in provider, base URL, body as sent and attempt number. Keys of providers
// are not part of a request and are never stored; prompts are stored only as hashes, replies in
// full.
//
// A reply is the file replies-v1/<first two digits>/<the others> of the folder, named by the hash
// of its request. It contains the hash of its content and the content as JSON. The file's time is
// the time of its last use. At the size limit, the files unused for longest are removed. Several
// processes may use a folder at once, and it may be deleted at any time. It is safe for concurrent
// use.
type Cache struct {
	mode CacheMode
	kept replyFiles

	mu      sync.Mutex
	stats   CacheStats
	pending map[CacheKey]chan struct{} // closed when the request that will store it has ended
}

// CacheStats counts the uses of a cache since it was opened.
type CacheStats struct {
	// Hits and Misses count the requests that looked for a reply.
	Hits, Misses int
	// Stored counts the new replies, Damaged the unusable files that were removed, and Failed the
	// files that could not be read or written, with the last Failure.
	Stored, Damaged, Failed int
	Failure                 error
	// Saved is the cost that the cached replies have saved, if their price is known.
	Saved USD
}

// OpenCache opens the cache in a folder, which is created when the first reply is stored. maxBytes
// limits its size on disk; 0 means no limit. Mode CacheOff needs no folder.
func OpenCache(dir string, mode CacheMode, maxBytes int64) (*Cache, error) {
	switch mode {
	case CacheOff, CacheRead, CacheWrite, CacheOnly:
	default:
		return nil, fmt.Errorf("unknown cache mode %s: give off, read, write or only", quote(string(mode)))
	}
	if dir == "" && mode != CacheOff {
		return nil, errors.New("a cache needs a folder")
	}
	return &Cache{
		mode: mode, kept: replyFiles{dir: filepath.Join(dir, "replies-v1"), limit: maxBytes},
		pending: map[CacheKey]chan struct{}{},
	}, nil
}

// Mode returns the cache's mode.
func (c *Cache) Mode() CacheMode { return c.mode }

// Stats returns a copy of the counts so far.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// CacheKey is the hash of a request.
type CacheKey [sha256.Size]byte

func (k CacheKey) String() string { return hex.EncodeToString(k[:]) }

// NewCacheKey returns the key of a request: a JSON object that is sent to a path of an API. attempt
// counts, from 0, requests that are repeated to get another reply. Order of keys and space in the
// body do not matter.
func NewCacheKey(provider, baseURL, path string, body []byte, attempt int) (CacheKey, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return CacheKey{}, fmt.Errorf("the body of a request is not a JSON object: %w", err)
	}
	data, err := json.Marshal(struct {
		Provider, BaseURL, Path string
		Attempt                 int
		Body                    map[string]json.RawMessage
	}{provider, baseURL, path, attempt, fields})
	return sha256.Sum256(data), err
}

// Lookup reads the reply to a request into value, a pointer, and reports whether there is one. If
// there is none, the caller makes the request, stores its reply, and then calls done. Until then
// another Lookup for the same key waits. In mode CacheOnly a missing reply is an error that wraps
// ErrNotCached and names model. Any other error is the context's.
func (c *Cache) Lookup(ctx context.Context, key CacheKey, model string, value any) (hit bool, done func(), err error) {
	none := func() {}
	if c.mode == CacheOff {
		return false, none, nil
	}
	done, err = c.claim(ctx, key)
	if err != nil {
		return false, none, err
	}
	if c.load(key, value) {
		done()
		return true, none, nil
	}
	if c.mode != CacheOnly {
		return false, done, nil
	}
	done()
	return false, none, fmt.Errorf("%w of model %s to this request in %s, and nothing may be sent (--cache only): "+
		"repeat the run that was stored with the same options, or allow requests with --cache write",
		ErrNotCached, quote(model), c.kept.dir)
}

// claim waits until no other request for the key is in progress. In a mode that stores nothing it
// does not wait.
func (c *Cache) claim(ctx context.Context, key CacheKey) (done func(), err error) {
	if c.mode != CacheWrite {
		return func() {}, nil
	}
	for {
		c.mu.Lock()
		other := c.pending[key]
		if other == nil {
			mine := make(chan struct{})
			c.pending[key] = mine
			c.mu.Unlock()
			return sync.OnceFunc(func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.pending, key)
				close(mine)
			}), nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// load is read that counts a lookup.
func (c *Cache) load(key CacheKey, value any) (hit bool) {
	hit = c.read(key, value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if hit {
		c.stats.Hits++
	} else {
		c.stats.Misses++
	}
	return hit
}

// read reads a stored reply into value, and counts unusable files.
func (c *Cache) read(key CacheKey, value any) (found bool) {
	data, err := c.kept.read(key)
	if err == nil && data != nil {
		err = json.Unmarshal(data, value)
		found = err == nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, errDamaged):
		c.stats.Damaged++
	case err != nil:
		c.stats.Failed++
		c.stats.Failure = err
	}
	return found
}

// Store keeps the reply to a request, in mode CacheWrite. A reply that cannot be written is only
// counted in the stats, because it was paid for and the caller has it.
func (c *Cache) Store(key CacheKey, value any) {
	if c.mode != CacheWrite {
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = c.kept.write(key, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stats.Failed++
		c.stats.Failure = err
		return
	}
	c.stats.Stored++
}

// Saved counts the cost that a cached reply has saved.
func (c *Cache) Saved(usd USD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Saved = c.stats.Saved.Plus(usd)
}
