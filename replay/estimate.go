package replay

import (
	"time"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// Estimate forecasts the cost and time of a replay.
type Estimate struct {
	// Phases are the phases with work to do, in order. Their money is rounded up to four
	// significant digits.
	Phases []PhaseEstimate
	// Total is the sum of all phases, with its highest money limited to the cap.
	Total Range
	// Unpriced lists models without a known price. Their cost is missing from the estimate.
	Unpriced []string
}

// PhaseEstimate is the forecast for one phase of all arms together.
type PhaseEstimate struct {
	Phase ledger.Phase
	// Calls is the likely number of model requests.
	Calls int
	// Unpriced is set if the phase calls a model without a known price.
	Unpriced bool
	Range
}

// Range holds the lowest, likely and highest money and time.
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

// add adds model calls. The lowest cost is half the likely one.
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

// perCall is the time of a model call. The offline models are much faster.
var (
	perCall     = [3]time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second}
	perFakeCall = [3]time.Duration{100 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}
)

// perSession is the time a daemon takes to store a session.
var perSession = [3]time.Duration{time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond}

// duration returns the time of this many calls.
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

// haystackSize returns the number of sessions in all haystacks, and their size in bytes.
func (p *Plan) haystackSize() (sessions int, text int64) {
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
