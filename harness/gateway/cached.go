package gateway

import (
	"errors"
	"net/http"
	"sync"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
)

// replies counts the completions that the daemon has received for each request. A daemon that
// repeats a request could not use the reply, so each stored reply is sent only once. It is safe for
// concurrent use.
type replies struct {
	mu  sync.Mutex
	got map[llm.CacheKey]int
}

// next returns the number of the next reply to a request, from 0.
func (r *replies) next(request llm.CacheKey) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[request]
}

// sent records that the daemon has received the n-th reply to a request. Concurrent requests get
// the same reply.
func (r *replies) sent(request llm.CacheKey, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[request] = max(r.got[request], n+1)
}

// cached answers from the cache or else asks the provider.
func (g *Gateway) cached(w http.ResponseWriter, r *http.Request, c *call, phase ledger.Phase) error {
	cache := g.config.Cache
	if cache == nil || cache.Mode() == llm.CacheOff {
		return g.ask(w, r, c)
	}
	request, err := g.cacheKey(c, 0)
	if err != nil {
		return err
	}
	n := 0
	if c.path == completions { // equal texts have equal vectors
		n = g.replies.next(request)
	}
	key, err := g.cacheKey(c, n)
	if err != nil {
		return err
	}
	var stored llm.CacheKey
	c.keep = func(a cachedAnswer) {
		cache.Store(key, a)
		g.replies.sent(request, n)
		stored = key
	}
	paid := func() error {
		defer func() { c.account.Lookup(r.Context(), c.model, stored, nil) }()
		return g.ask(w, r, c)
	}
	if g.config.Fresh && phase == ledger.Ingest && cache.Mode() != llm.CacheOnly {
		return paid()
	}
	var kept cachedAnswer
	asked := key // another reply in its place would have been paid for as this one
	hit, done, err := cache.Lookup(r.Context(), key, c.model, &kept)
	for before := n - 1; errors.Is(err, llm.ErrNotCached) && before >= 0; before-- {
		if key, err = g.cacheKey(c, before); err == nil {
			hit, done, err = cache.Lookup(r.Context(), key, c.model, &kept)
		}
	}
	if err != nil {
		return err
	}
	defer done()
	if !hit {
		return paid()
	}
	g.replies.sent(request, n)
	saved := c.charge(kept.outcome(c))
	cache.Saved(saved.Cost)
	c.account.Lookup(r.Context(), c.model, asked, &saved)
	c.keep = nil
	return kept.replay(w, c)
}

// cacheKey returns the key of the n-th reply to a request. It differs from the key of the same
// request by evalctl itself, whose reply is stored in another form.
func (g *Gateway) cacheKey(c *call, n int) (llm.CacheKey, error) {
	return llm.NewCacheKey(g.config.Upstream.Provider, g.upstream, "gateway:"+c.path, c.body, n)
}
