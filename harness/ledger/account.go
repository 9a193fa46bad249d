package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// sum has the totals of an account.
type sum struct {
	spent, lost, saved llm.USD
	hits, misses       int
	replies            map[string]reply // those that were found in the cache or stored there
	tokens             map[string]*result.ModelTokens
	unpriced           map[string]bool
}

// reply is a cached reply, as an account knows it.
type reply struct {
	usd       llm.USD // what it would have cost
	estimated bool    // its tokens were
	paid      bool    // by this account
}

// plus merges two lookups of the same reply.
func (r reply) plus(o reply) reply {
	return reply{max(r.usd, o.usd), r.estimated || o.estimated, r.paid || o.paid}
}

// Account returns the account for a phase of an arm.
func (l *Ledger) Account(phase Phase, arm string) llm.Account {
	return booking{l, account{phase, arm}}
}

type booking struct {
	ledger *Ledger
	account
}

func (b booking) Capped() bool { return b.ledger.Cap() != nil }

// Reserve writes the worst case of a request to the file, unless it is free.
func (b booking) Reserve(ctx context.Context, model string, worst llm.USD) (func(llm.Charge), error) {
	l := b.ledger
	l.mu.Lock()
	budget := l.budget
	l.mu.Unlock()
	held, err := budget.Reserve(ctx, worst)
	if err != nil {
		return nil, err
	}
	question := llm.QuestionOf(ctx)
	id, err := l.reserve(line{Kind: kindReserve, account: b.account, Question: question, Model: model, USD: max(worst, 0)})
	if err != nil {
		held.Settle(0)
		return nil, err
	}
	var once sync.Once
	return func(c llm.Charge) {
		once.Do(func() {
			l.settle(line{
				Kind: kindSettle, ID: id, account: b.account, Question: question, Model: model, USD: max(c.Cost, 0),
				Lost: max(min(c.Lost, c.Cost), 0), Estimated: c.Usage.Estimated, Rejected: c.Rejected, Unpriced: c.Unpriced,
				InputTokens: int64(max(c.Usage.InputTokens, 0)), OutputTokens: int64(max(c.Usage.OutputTokens, 0)),
				Implausible: c.UsageProblem != "",
			})
			held.Settle(c.Cost)
		})
	}, nil
}

func (b booking) Lookup(ctx context.Context, model string, reply llm.CacheKey, saved *llm.Charge) {
	in := line{Kind: kindMiss, account: b.account, Question: llm.QuestionOf(ctx), Model: model, Reply: NameReply(reply)}
	if saved != nil {
		in.Kind, in.USD = kindHit, max(saved.Cost, 0)
		in.Estimated, in.Unpriced = saved.Usage.Estimated, saved.Unpriced
	}
	b.ledger.settle(in)
}

// NameReply returns a short name for a cached reply in books, empty for the zero key.
func NameReply(key llm.CacheKey) string {
	if key == (llm.CacheKey{}) {
		return ""
	}
	return key.String()[:32]
}

// reserve returns the id of a reservation, 0 for a free request, which is not reserved.
func (l *Ledger) reserve(in line) (id int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.USD == 0 {
		return 0, l.err
	}
	in.At = time.Now().UTC()
	in.ID = l.lastID + 1
	if err := l.write(in); err != nil {
		return 0, err
	}
	l.lastID = in.ID
	l.open[in.ID] = in
	return in.ID, nil
}

// settle writes and counts an outcome. If writing fails, Err returns the error, no further request
// is admitted, and the file still has the worst case.
func (l *Ledger) settle(in line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.At = time.Now().UTC()
	_ = l.write(in)
	l.add(in)
}

// add counts an outcome. l.mu must be held.
func (l *Ledger) add(in line) {
	s := l.sums[in.account]
	if s == nil {
		s = &sum{replies: map[string]reply{}, tokens: map[string]*result.ModelTokens{}, unpriced: map[string]bool{}}
		l.sums[in.account] = s
	}
	switch in.Kind {
	case kindHit, kindMiss:
		s.look(in)
		return
	}
	delete(l.open, in.ID)
	s.spent, s.lost = s.spent.Plus(in.USD), s.lost.Plus(in.Lost)
	if in.Rejected {
		return
	}
	if in.Unpriced {
		s.unpriced[in.Model] = true
	}
	t := s.tokens[in.Model]
	if t == nil {
		t = &result.ModelTokens{}
		s.tokens[in.Model] = t
	}
	one := result.ModelTokens{Requests: 1, InputTokens: in.InputTokens, OutputTokens: in.OutputTokens, USD: in.USD}
	if in.Estimated {
		one.Estimated = 1
	}
	if in.Implausible {
		one.Implausible = 1
	}
	*t = plus(*t, one)
}

// look counts a cache lookup.
func (s *sum) look(in line) {
	name, found := in.Reply, reply{usd: in.USD, estimated: in.Estimated, paid: in.Kind == kindMiss}
	if found.paid {
		s.misses++
		if name == "" {
			return
		}
	} else {
		s.hits++
		s.saved = s.saved.Plus(in.USD)
		if in.Unpriced {
			s.unpriced[in.Model] = true
		}
		if name == "" { // an older evalctl did not name replies
			name = fmt.Sprintf("%s %s %d", in.Phase, in.Arm, len(s.replies))
		}
	}
	s.replies[name] = s.replies[name].plus(found)
}

// Saved implements Books.
func (l *Ledger) Saved(arms ...string) (saved llm.USD, estimated int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]reply{}
	for a, s := range l.sums {
		if slices.Contains(arms, a.Arm) {
			for name, r := range s.replies {
				all[name] = all[name].plus(r)
			}
		}
	}
	for _, r := range all {
		if r.paid {
			continue
		}
		saved = saved.Plus(r.usd)
		if r.estimated {
			estimated++
		}
	}
	return saved, estimated
}

// spent returns the sum over all accounts. l.mu must be held.
func (l *Ledger) spent() llm.USD {
	var total llm.USD
	for _, s := range l.sums {
		total = total.Plus(s.spent)
	}
	return total
}

// Accounting implements Books. Requests in progress are not included. ListCost, PerCorrectUSD, its
// interval and Unmetered are left to the caller.
func (l *Ledger) Accounting(arm string) result.CostAccounting {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := result.CostAccounting{CapUSD: l.start.Cap, Tokens: map[string]result.ModelTokens{}, Unpriced: []string{}}
	parts := map[Phase]*llm.USD{Ingest: &c.IngestUSD, Actor: &c.ActorUSD, Judge: &c.JudgeUSD, Embed: &c.EmbedUSD}
	for a, s := range l.sums {
		if arm != "" && a.Arm != arm {
			continue
		}
		*parts[a.Phase] = parts[a.Phase].Plus(s.spent)
		c.LostUSD, c.CachedSavingsUSD = c.LostUSD.Plus(s.lost), c.CachedSavingsUSD.Plus(s.saved)
		c.CacheHits, c.CacheMisses = c.CacheHits+s.hits, c.CacheMisses+s.misses
		for model, t := range s.tokens {
			c.Tokens[model] = plus(c.Tokens[model], *t)
		}
		for model := range s.unpriced {
			c.Unpriced = append(c.Unpriced, model)
		}
	}
	c.TotalUSD = c.IngestUSD.Plus(c.ActorUSD).Plus(c.JudgeUSD).Plus(c.EmbedUSD)
	slices.Sort(c.Unpriced)
	c.Unpriced = slices.Compact(c.Unpriced)
	return c
}

func plus(a, b result.ModelTokens) result.ModelTokens {
	return result.ModelTokens{
		Requests:    a.Requests + b.Requests,
		InputTokens: result.AddTokens(a.InputTokens, b.InputTokens), OutputTokens: result.AddTokens(a.OutputTokens, b.OutputTokens),
		Estimated: a.Estimated + b.Estimated, Implausible: a.Implausible + b.Implausible, USD: a.USD.Plus(b.USD),
	}
}
