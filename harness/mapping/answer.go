package mapping

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/intake"
	"evalctl/internal/printable"
)

// Answer implements target.Service.
func (s *Service) Answer(ctx context.Context, t *target.Target, q dataset.Question) (a target.Answer, err error) {
	o := s.mapping.search
	if t.Scenario.Reads() {
		o = s.mapping.ask
	}
	if o == nil {
		need := target.Search
		if t.Scenario.Reads() {
			need = target.Asks
		}
		return a, target.NewFailure(result.KindProtocol, s.Lacks(need))
	}
	b := s.brain(t.Brains[q.Brain])
	_, release, err := s.running(ctx, b)
	if err != nil {
		return a, err
	}
	defer release()
	if err := s.settle(ctx, b); err != nil {
		return a, err
	}
	values := map[string]any{"brain": b.sentID(), "query": q.Question, "top_k": t.TopK}
	if t.Mode != "" {
		values["mode"] = t.Mode
	}
	if q.QuestionDate != "" {
		values["question_date"] = q.QuestionDate
	}
	started := time.Now()
	items, mode, err := s.find(ctx, b, o, values, t.TopK)
	a.Latency, a.EffectiveMode = time.Since(started), mode
	if err == nil && s.mapping.Transport != HTTP { // whose replies count as they are read
		err = drawn(ctx, items)
	}
	if err != nil {
		return a, err
	}
	reads := t.Scenario.Reads()
	if a.NoPassages = reads; !reads && len(items) > t.TopK {
		items = items[:t.TopK]
	}
	texts := make([]string, len(items))
	a.Retrieved = make([]result.Chunk, 0, len(items))
	for i, f := range items {
		texts[i] = f.text
		if !reads {
			a.Retrieved = append(a.Retrieved, s.chunk(b, f))
		}
	}
	a.Answer = strings.Join(texts, "\n")
	return a, nil
}

// chunk converts an item to a passage of its document.
func (s *Service) chunk(b *brain, f foundItem) result.Chunk {
	c := f.chunk(b.pathOf(f.id))
	c.Duplicates = b.alsoOf(f.id)
	if c.Date != "" && s.clock.wrote(c.Date, b.dateOf(c.Path)) {
		c.Date = ""
	}
	return c
}

// read reads a reply. Decoding is charged to the question only if its call was, see drawn.
func (s *Service) read(ctx context.Context, o *operation, a callReply) (page, error) {
	if s.mapping.Transport != HTTP {
		decoding, hold := intake.Begin(ctx)
		defer hold.End()
		ctx = decoding
	}
	return o.reply.read(ctx, a, o.called())
}

// drawn charges the question for the texts of items. It must run after the question's last call,
// because a server on stdio has one output for the replies to all questions.
func drawn(ctx context.Context, items []foundItem) error {
	size := 0
	for _, f := range items {
		size += len(f.id) + len(f.text) + len(f.title)
	}
	hold := intake.Of(ctx)
	defer hold.End()
	return hold.Draw(ctx, int64(size))
}

// find makes the calls of a question: one, or one per keyword.
func (s *Service) find(ctx context.Context, b *brain, o *operation, values map[string]any, topK int) ([]foundItem, string, error) {
	query, _ := values["query"].(string)
	queries := []string{query}
	if s.mapping.Query == Words && o == s.mapping.search {
		queries = Keywords(query)
	}
	if o.topK > 0 {
		values["top_k"] = min(topK, o.topK)
	}
	var all [][]foundItem
	mode := ""
	for _, q := range queries {
		values["query"] = cutText(q, o.limit)[0]
		p, err := s.pages(ctx, b, o, values, topK)
		if err != nil {
			return nil, "", err
		}
		all, mode = append(all, p.items), cmp.Or(p.mode, mode)
	}
	if len(all) == 1 {
		return all[0], mode, nil
	}
	return merge(all), mode, nil
}

// mostPages limits the pages read per search.
const mostPages = 100

// pages makes the calls of a search, one per page, until it has topK items or the last page. A
// page may be empty and not the last, if the service filters what is on a page and names the
// next.
func (s *Service) pages(ctx context.Context, b *brain, o *operation, values map[string]any, topK int) (all page, err error) {
	paged := slices.ContainsFunc(pageNames, o.sends)
	delete(values, "cursor")
	for n := 1; ; n++ {
		values["page"], values["offset"] = n, len(all.items)
		a, err := s.call(ctx, b, o, values)
		if err != nil {
			return page{}, err
		}
		p, err := s.read(ctx, o, a)
		if err != nil {
			return page{}, err
		}
		all.items, all.mode = append(all.items, p.items...), cmp.Or(p.mode, all.mode)
		last := len(p.items) == 0
		if o.reply.next != nil { // a cursor that stays the same is that of a scroll
			last = p.next == nil || last && sameJSON(p.next, values["cursor"])
		}
		if !paged || last || len(all.items) >= topK || n == mostPages {
			return all, nil
		}
		values["cursor"] = p.next
	}
}

// running returns what makes the calls of a brain. If the brain has its own process, it is
// started if necessary and runs until release. Answer and Search call this before they measure
// or limit the time of a search, because a start takes longer than a search and is not part of
// it.
func (s *Service) running(ctx context.Context, b *brain) (c caller, release func(), err error) {
	if s.main != nil {
		return s.main, func() {}, nil
	}
	one, release, err := s.pool.acquire(ctx, b.name)
	switch {
	case err == nil:
		return one, release, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	return nil, nil, target.NewFailure(result.KindTransport, err.Error())
}

// call makes a call for a brain. A reply that reports an error is a failure.
func (s *Service) call(ctx context.Context, b *brain, o *operation, values map[string]any) (callReply, error) {
	values["home"] = s.cfg.Launch.Home
	if s.main == nil {
		values["home"] = s.home(b.name)
	}
	c, release, err := s.running(ctx, b)
	if err != nil {
		return callReply{}, err
	}
	defer release()
	a, err := c.call(ctx, o, values)
	if err == nil {
		err = s.mapping.told(o, a)
	}
	return a, err
}

// told returns the failure that a reply reports in its text, nil if none.
func (m *Mapping) told(o *operation, a callReply) error {
	for _, p := range m.errors {
		for _, text := range append(slices.Clip(a.texts), string(a.structured)) {
			if p.MatchString(text) {
				return target.NewFailure(result.KindDaemon, fmt.Sprintf("%s reports an error in its reply: %s", o.called(), printable.Line(text, maxLine)))
			}
		}
	}
	return nil
}
