package replay

import (
	"time"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// Estimate is what a replay is expected to need, before anything is spent.
type Estimate struct {
	// Phases are those with work to do, in order. Their money is rounded up to four significant
	// digits.
	Phases []PhaseEstimate
	// Total is the sum. Its highest money is at most the cap, which no replay exceeds.
	Total Range
	// Unpriced are models whose price is not known. Their cost is missing.
	Unpriced []string
}

// PhaseEstimate is the need of one phase of all arms together.
type PhaseEstimate struct {
	Phase ledger.Phase
	// Calls is the number of requests to models that are likely.
	Calls int
	// Unpriced is set if the phase calls a model whose price is not known.
	Unpriced bool
	Range
}

// Range has the lowest, the likely and the highest money and time.
type Range struct {
	USD  [3]llm.USD
	Time [3]time.Duration
}

// The cases of a Range.
const (
	Low = iota
	Likely
	Worst
)

// add adds calls of models. The lowest cost is half of what is likely.
func (e *PhaseEstimate) add(calls int, likely, worst llm.USD) {
	e.Calls += calls
	e.USD[Likely] = e.USD[Likely].Plus(likely)
	e.USD[Worst] = e.USD[Worst].Plus(worst)
	e.USD[Low] = e.USD[Likely] / 2
}

func (r *Range) add(o Range) {
	for i := range r.USD {
		r.USD[i] = r.USD[i].Plus(o.USD[i])
		r.Time[i] += o.Time[i]
	}
}

// perCall is how long a call of a model takes. The offline models are much faster.
var (
	perCall     = [3]time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second}
	perFakeCall = [3]time.Duration{100 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}
)

// perSession is how long a daemon takes to store a session.
var perSession = [3]time.Duration{time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond}

// duration returns how long so many calls take.
func (p *Plan) duration(calls int, provider string) (out [3]time.Duration) {
	each := perCall
	if provider == llm.ProviderFake {
		each = perFakeCall
	}
	parallel := p.Concurrency * max(1, len(p.Arms))
	rounds := (calls + parallel - 1) / max(1, parallel)
	for i := range out {
		out[i] = time.Duration(rounds) * each[i]
	}
	return out
}

// written returns how many sessions the haystacks have, and the bytes of their texts.
func (p *Plan) written() (sessions int, text int64) {
	for _, h := range p.Haystacks {
		sessions += h.Sessions
		text += h.TextBytes
	}
	return sessions, text
}

func (p *Plan) infos() map[string]source.HaystackInfo {
	out := map[string]source.HaystackInfo{}
	for _, h := range p.Haystacks {
		out[h.ID] = h
	}
	return out
}
