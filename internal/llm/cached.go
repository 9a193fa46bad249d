package llm

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Wrap returns a provider that asks m only for replies that are not in the cache. A cached reply is
// neither reserved nor charged; the meter's account counts the lookup. baseURL is m's. Replies that
// the limit on the output cut are stored; other empty replies, and those that did not end normally,
// are not. Replies of provider "fake" are computed, not cached.
func (c *Cache) Wrap(m *Meter, baseURL string) Provider {
	if c.mode == CacheOff || m.Name() == ProviderFake {
		return m
	}
	return &cachedProvider{cache: c, meter: m, baseURL: strings.TrimRight(baseURL, "/")}
}

// Refresh returns a provider that asks m for every reply, and replaces the cached reply as Wrap's
// provider would store it. In mode CacheOnly, in which nothing may be sent, it does the same as
// Wrap.
func (c *Cache) Refresh(m *Meter, baseURL string) Provider {
	p := c.Wrap(m, baseURL)
	if cached, ok := p.(*cachedProvider); ok {
		cached.refresh = c.mode != CacheOnly
	}
	return p
}

type cachedProvider struct {
	cache   *Cache
	meter   *Meter
	baseURL string
	refresh bool
}

// cachedReply is the stored part of a Response.
type cachedReply struct {
	Text         string    `json:"text"`
	Model        string    `json:"model"`
	FinishReason string    `json:"finish_reason"`
	InputTokens  int       `json:"input_tokens"`
	OutputTokens int       `json:"output_tokens"`
	Estimated    bool      `json:"estimated,omitempty"`
	Time         time.Time `json:"time"`
}

func (p *cachedProvider) Name() string { return p.meter.Name() }

// Complete emits a cached reply as one piece.
func (p *cachedProvider) Complete(ctx context.Context, r Request) (Response, error) {
	if !p.refresh {
		r = p.underStoredLimit(r)
	}
	key, err := p.key(r)
	if err != nil {
		return Response{}, err
	}
	if !p.refresh {
		var reply cachedReply
		hit, done, err := p.cache.Lookup(ctx, key, r.Model, &reply)
		if err != nil {
			return Response{}, err
		}
		defer done()
		if hit {
			return p.replay(ctx, key, r, reply)
		}
	}
	resp, err := p.meter.Complete(ctx, r)
	var stored CacheKey
	whole := resp.Text != "" && (resp.FinishReason == "stop" || resp.FinishReason == "")
	if err == nil && (whole || resp.Cut()) {
		p.cache.Store(key, cachedReply{
			Text: resp.Text, Model: resp.Model, FinishReason: resp.FinishReason,
			InputTokens: resp.Usage.InputTokens, OutputTokens: resp.Usage.OutputTokens,
			Estimated: resp.Usage.Estimated, Time: time.Now().UTC(),
		})
		stored = key
	}
	p.meter.account.Lookup(ctx, r.Model, stored, nil)
	return resp, err
}

// underStoredLimit returns r with the one of its Limits under which a whole reply is stored. It
// returns r as it is if a reply to it is stored, or none.
func (p *cachedProvider) underStoredLimit(r Request) Request {
	key, err := p.key(r)
	if err != nil || p.cache.kept.has(key) {
		return r
	}
	for _, limit := range r.Limits {
		var reply cachedReply
		other := r
		other.MaxTokens = limit
		if key, err = p.key(other); err == nil && p.cache.read(key, &reply) && !IsCut(reply.FinishReason) {
			return other
		}
	}
	return r
}

// key is the key of the request as it would be sent first. It ignores refused parameters, because a
// refusal is known only after a request is sent.
func (p *cachedProvider) key(r Request) (CacheKey, error) {
	if err := r.check(); err != nil {
		return CacheKey{}, err
	}
	d := r.Options.over(usualDialect(r.Model))
	r.Messages, r.JSON = d.messages(r), d.sent(r).JSON
	body, err := json.Marshal(wireRequest(r))
	if err == nil {
		body, err = withFields(body, d.fields(r))
	}
	if err != nil {
		return CacheKey{}, err
	}
	return NewCacheKey(p.Name(), p.baseURL, "/chat/completions", body, r.Attempt)
}

func (p *cachedProvider) replay(ctx context.Context, key CacheKey, r Request, reply cachedReply) (Response, error) {
	u := Usage{reply.InputTokens, reply.OutputTokens, reply.Estimated}
	if u.InputTokens == 0 { // nobody counted
		u = estimate(r, reply.Text)
	}
	_, known := p.meter.prices.Of(p.Name(), r.Model)
	worst := p.meter.WorstCase(r)
	saved := p.meter.charge(r, &Response{Usage: u}, nil, Charge{Cost: worst, Lost: worst, Unpriced: !known})
	p.cache.Saved(saved.Cost)
	p.meter.account.Lookup(ctx, r.Model, key, &saved)
	if r.Emit != nil && reply.Text != "" {
		if err := r.Emit(reply.Text); err != nil {
			return Response{}, err
		}
	}
	return Response{
		Text: reply.Text, Model: reply.Model, FinishReason: reply.FinishReason, Usage: u, Cached: true, SavedUSD: saved.Cost,
	}, nil
}
