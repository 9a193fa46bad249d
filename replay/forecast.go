package replay

import (
	"slices"
	"time"

	"evalctl/harness/judging"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/control"
	"evalctl/replay/ingest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Estimate forecasts the replay with an empty cache and unfilled brains. Low is half of likely, for
// terse answers. Worst assumes that every request reaches its token limit and its maximum number of
// attempts.
func (p *Plan) Estimate() Estimate {
	var e Estimate
	e.Phases = append(e.Phases, p.ingestEstimate())
	if actors := p.actorEstimate(); p.reader != nil || actors.Calls > 0 {
		e.Phases = append(e.Phases, actors)
	}
	if p.judgePlan != nil {
		e.Phases = append(e.Phases, p.judgeEstimate())
	}
	if embed := p.embedEstimate(); embed.Calls > 0 {
		e.Phases = append(e.Phases, embed)
	}
	e.Unpriced = p.unpriced()
	for i := range e.Phases {
		phase := &e.Phases[i]
		phase.Unpriced = phase.Calls > 0 && p.phaseUnpriced(phase.Phase, e.Unpriced)
		for c, usd := range phase.USD {
			phase.USD[c] = usd.RoundUp()
		}
		e.Total.add(phase.Range)
	}
	if p.Cap != nil {
		e.Total.USD[Worst] = min(e.Total.USD[Worst], *p.Cap)
	}
	return e
}

// unpriced returns the models without a known price, each once.
func (p *Plan) unpriced() (out []string) {
	models := slices.Clone(p.models)
	for _, a := range p.Arms {
		models = append(models, a.models()...)
	}
	for _, m := range models {
		if p.Prices.Check(m.Provider, m.Model) != nil && !slices.Contains(out, m.Model) {
			out = append(out, m.Model)
		}
	}
	return out
}

// phaseUnpriced reports whether a phase may call a model without a known price.
func (p *Plan) phaseUnpriced(phase ledger.Phase, unpriced []string) bool {
	judge := p.unpricedJudge()
	if phase == ledger.Judge {
		return judge != ""
	}
	other := slices.ContainsFunc(unpriced, func(model string) bool { return model != judge })
	return other || judge != "" && p.reader != nil && p.Reader.Model == judge
}

// ingestEstimate estimates writing the haystacks and, in ingest mode replay, the daemons'
// extraction, assumed to be one request per session.
func (p *Plan) ingestEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Ingest}
	if p.Ingest == ingest.None || p.daemons() == 0 {
		return e
	}
	sessions, _ := p.haystackSize()
	for i := range e.Time {
		// Arms write concurrently.
		e.Time[i] = time.Duration(sessions) * perSession[i]
	}
	if p.Ingest == ingest.Replay {
		p.addExtraction(&e)
	}
	return e
}

// Contexts returns, for each full-context baseline, how much of the haystacks its reader receives.
func (p *Plan) Contexts() (out []*result.ContextUse, err error) {
	for _, a := range p.Arms {
		use, err := p.actors[a.Name].Context(p.Questions, p.infos())
		if err != nil {
			return nil, err
		}
		if use != nil {
			out = append(out, use)
		}
	}
	return out, nil
}

// actorEstimate estimates the answers of readers and daemons.
func (p *Plan) actorEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Actor}
	infos := p.infos()
	add := func(a Arm, q source.Question) {
		f := p.pricers[a.Name].Estimate(q, infos[q.Haystack])
		calls := min(f.Tokens.InputTokens, 1) // none without a reader
		e.add(calls, f.Likely, f.Worst)
	}
	for _, a := range p.Arms {
		for _, q := range p.Questions {
			add(a, q)
		}
	}
	for _, turn := range p.aloneTurns() { // in which no reader of evalctl is asked
		if a := p.Arms[turn.arm]; p.style(a) == actor.Full {
			add(a, p.Questions[turn.question])
		}
	}
	e.Time = p.duration(e.Calls, p.readingProvider())
	return e
}

// controlRounds is the maximum number of times the controls are judged: up to three times, and
// again if cached replies are wrong.
const controlRounds = 6

// judgeEstimate estimates judging the answers and the controls.
func (p *Plan) judgeEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Judge}
	add := func(item scorer.Item, times, worst int) {
		e.add(times*p.Scorer.Asks(item), p.judgePlan.Estimate(item).Times(times), p.judgePlan.Worst(item).Times(worst))
	}
	for _, q := range p.Questions {
		times := len(p.Arms)
		if q.Erratum != nil && !q.Erratum.Exclude {
			times *= 2 // by both references
		}
		add(judging.Longest(q.Dataset().Item()), times, times)
	}
	if p.checksScorer() {
		for _, c := range control.Items(p.Questions, p.Drawn.Seed) {
			add(c.Item, 1, controlRounds)
		}
	}
	e.Time = p.duration(e.Calls, p.judge.Name())
	return e
}

// largestCall returns the maximum cost of a single request, and who makes it.
func (p *Plan) largestCall() (most llm.USD, whose string) {
	infos := p.infos()
	for _, q := range p.Questions {
		for _, a := range p.Arms {
			if call := p.pricers[a.Name].Estimate(q, infos[q.Haystack]).Call; call > most {
				most, whose = call, "reader"
			}
		}
		if p.judgePlan == nil {
			continue
		}
		if call := p.judgePlan.WorstCall(judging.Longest(q.Dataset().Item())); call > most {
			most, whose = call, "judge"
		}
	}
	return most, whose
}
