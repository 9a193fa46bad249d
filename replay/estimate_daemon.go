package replay

import (
	"cmp"

	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/gateway"
	"evalctl/replay/ledger"
	"evalctl/replay/source"
)

// What a daemon sends to its models is its own affair. These are the assumptions, in bytes.
const (
	bytesPerToken = 4
	// Extraction reads a session in windows, each with instructions and the end of the window before.
	extractWindow = 8_000
	extractPrompt = 2_400
	// extractShare is the part of the text that the facts are, and extractReply what a reply has at
	// least.
	extractShare = 8
	extractReply = 80
	// daemonAttempts is how often a request is sent at most: as often as a client repeats it, and
	// once more as often if the reply was not usable.
	daemonAttempts = 2 * llm.DefaultMaxAttempts
	// worstText is how many bytes a daemon sends at most for a byte of text: JSON escapes, titles,
	// dates, overlaps, and for embeddings the facts as well.
	worstText = 4
	// embedBatch is what surrounds the texts of a request for embeddings.
	embedBatch = 200
)

// daemonAnswers prices the answers of a daemon that has a reader of its own. It sends nothing.
type daemonAnswers struct {
	likely *actor.Actor
	most   *actor.Actor // with the limit on output that the gateway sets
}

// priceAnswers creates the actors that price a started daemon's answers as if evalctl had read the
// passages itself.
func (p *Plan) priceAnswers(a Arm) error {
	if !a.started() || p.Style != actor.Full || a.Reader == nil || a.Upstream == nil {
		return nil
	}
	config := llm.Config{
		Provider: a.Reader.Provider, Model: a.Reader.Model, BaseURL: a.Upstream.BaseURL, APIKey: a.Upstream.APIKey,
	}
	reader, err := llm.Open(config)
	if err != nil {
		return err
	}
	c := p.actorConfig(a, nil, nil, nil)
	c.Style, c.Reader, c.Model = actor.RetrieveOnly, reader, a.Reader.Model
	var d daemonAnswers
	if d.likely, err = actor.New(c); err != nil {
		return err
	}
	c.MaxTokens = outputLimit(c.Model)
	d.most, err = actor.New(c)
	p.answers[a.Name] = d
	return err
}

// outputLimit is the limit on output that the gateway adds to a request without one.
func outputLimit(model string) int {
	if llm.IsReasoningModel(model) {
		return gateway.DefaultReasoningMaxTokens
	}
	return gateway.DefaultMaxTokens
}

// answerForecast is that of an arm's answer to one question.
func (p *Plan) answerForecast(a Arm, q source.Question, info source.HaystackInfo) actor.Forecast {
	d, ok := p.answers[a.Name]
	if !ok {
		return p.actors[a.Name].Estimate(q, info)
	}
	f, most := d.likely.Estimate(q, info), d.most.Estimate(q, info)
	f.Worst, f.Call = most.Worst, most.Call
	return f
}

// readingProvider is that of the models that answer.
func (p *Plan) readingProvider() string {
	if p.reader != nil {
		return p.reader.Name()
	}
	for _, a := range p.Arms {
		if a.Reader != nil {
			return a.Reader.Provider
		}
	}
	return llm.ProviderFake
}

// addExtraction adds what the daemons spend on extracting facts from all sessions.
func (p *Plan) addExtraction(e *PhaseEstimate) {
	sessions, text := p.written()
	windows := max(int64(sessions), (text+extractWindow-1)/extractWindow)
	most := int64(sessions) + 2*text/extractWindow
	provider := ""
	for _, a := range p.Arms {
		if !a.started() || a.Reader == nil {
			continue
		}
		provider = cmp.Or(provider, a.Reader.Provider)
		e.Calls += int(windows)
		price, _ := p.Prices.Of(a.Reader.Provider, a.Reader.Model)
		likely := price.Cost(llm.Usage{
			InputTokens:  int((text + windows*extractPrompt) / bytesPerToken),
			OutputTokens: int((text/extractShare + windows*extractReply) / bytesPerToken),
		})
		e.USD[Likely] = e.USD[Likely].Plus(likely)
		e.USD[Low] = e.USD[Low].Plus(likely / 2)
		e.USD[Worst] = e.USD[Worst].Plus(price.Cost(llm.Usage{
			InputTokens:  int(daemonAttempts * (worstText*text + most*2*extractPrompt)),
			OutputTokens: int(daemonAttempts * most * int64(outputLimit(a.Reader.Model))),
		}))
	}
	for i, t := range p.duration(e.Calls, provider) {
		e.Time[i] += t
	}
}

// embedEstimate is that of the texts and questions which daemons embed: each text once.
func (p *Plan) embedEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Embed}
	sessions, text := p.written()
	asked := int64(0)
	for _, q := range p.Questions {
		asked += int64(len(q.Text))
	}
	for _, a := range p.Arms {
		if a.Embedding == nil {
			continue
		}
		calls := sessions + len(p.Questions)
		e.Calls += calls
		price, _ := p.Prices.Of(a.Embedding.Provider, a.Embedding.Model)
		likely := price.Cost(llm.Usage{InputTokens: int((text + asked) / bytesPerToken)})
		e.USD[Likely] = e.USD[Likely].Plus(likely)
		e.USD[Low] = e.USD[Low].Plus(likely / 2)
		e.USD[Worst] = e.USD[Worst].Plus(price.Cost(llm.Usage{
			InputTokens: int(daemonAttempts * (worstText*(text+asked) + int64(calls)*embedBatch)),
		}))
	}
	e.Time = p.duration(e.Calls, llm.ProviderOpenAI)
	return e
}
