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

// Estimate returns what the replay is expected to need if nothing is cached or filled already. Low
// is half of what is likely, for terse answers. Worst has every request at its limit of tokens,
// repeated as often as it may be.
func (p *Plan) Estimate() Estimate {
	var e Estimate
	e.Phases = append(e.Phases, p.ingestEstimate())
	if actors := p.actorEstimate(); p.reader != nil || actors.Calls > 0 {
		e.Phases = append(e.Phases, actors)
	}
	if p.judging != nil {
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

// unpriced returns the models whose price is not known, each once.
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

// ingestEstimate is that of writing the haystacks, and of the daemons' extraction in ingest mode
// replay, which is assumed to be one request for each session.
func (p *Plan) ingestEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Ingest}
	if p.Ingest == ingest.None || p.daemons() == 0 {
		return e
	}
	sessions, _ := p.written()
	for i := range e.Time {
		// Arms write at the same time.
		e.Time[i] = time.Duration(sessions) * perSession[i]
	}
	if p.Ingest == ingest.Replay {
		p.addExtraction(&e)
	}
	return e
}

// Contexts says for each baseline full-context how much of the haystacks its reader is given.
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

// actorEstimate is that of the answers of readers and daemons.
func (p *Plan) actorEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Actor}
	infos := p.infos()
	add := func(a Arm, q source.Question) {
		f := p.answers[a.Name].Estimate(q, infos[q.Haystack])
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

// controlRounds is how often the controls are judged at most: up to three times each, and again if
// cached replies are wrong.
const controlRounds = 6

// judgeEstimate is that of judging the answers, and the controls.
func (p *Plan) judgeEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Judge}
	add := func(item scorer.Item, times, worst int) {
		e.add(times*p.Scorer.Asks(item), p.judging.Estimate(item).Times(times), p.judging.Worst(item).Times(worst))
	}
	for _, q := range p.Questions {
		times := len(p.Arms)
		if q.Erratum != nil && !q.Erratum.Exclude {
			times *= 2 // by both references
		}
		add(judging.Longest(q.Dataset().Item()), times, times)
	}
	if p.checked() {
		for _, c := range control.Items(p.Questions, p.Drawn.Seed) {
			add(c.Item, 1, controlRounds)
		}
	}
	e.Time = p.duration(e.Calls, p.judge.Name())
	return e
}

// largestCall returns the most that a single request can cost, and whose it is.
func (p *Plan) largestCall() (most llm.USD, whose string) {
	infos := p.infos()
	for _, q := range p.Questions {
		for _, a := range p.Arms {
			if call := p.answers[a.Name].Estimate(q, infos[q.Haystack]).Call; call > most {
				most, whose = call, "reader"
			}
		}
		if p.judging == nil {
			continue
		}
		if call := p.judging.WorstCall(judging.Longest(q.Dataset().Item())); call > most {
			most, whose = call, "judge"
		}
	}
	return most, whose
}
