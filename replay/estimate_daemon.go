package replay

import (
	"cmp"

	"evalctl/harness/gateway"
	"evalctl/harness/ledger"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/source"
)

// What a daemon sends to its models is unknown in advance. These are assumptions, in bytes.
const (
	bytesPerToken = 4
	// Extraction reads a session in windows, each with instructions and the end of the previous
	// window.
	extractWindow = 8_000
	extractPrompt = 2_400
	// Facts are assumed to take 1/extractShare of the text, and a reply at least extractReply
	// bytes.
	extractShare = 8
	extractReply = 80
	// daemonAttempts is the maximum number of times a request is sent: the client's attempts,
	// doubled if a reply was unusable.
	daemonAttempts = 2 * llm.DefaultMaxAttempts
	// worstText is the maximum number of bytes that a daemon sends per byte of text: JSON escapes,
	// titles, dates, overlaps and, for embeddings, facts.
	worstText = 4
	// embedBatch is the overhead of an embeddings request around its texts.
	embedBatch = 200
)

// daemonAnswers prices the answers of a daemon with its own reader. It sends nothing.
type daemonAnswers struct {
	likely *actor.Actor
	most   *actor.Actor // with the limit on output that the gateway sets
}

// answersItself reports whether the arm's daemon answers with a counted model.
func (p *Plan) answersItself(a Arm) bool {
	return a.started() && p.Style == actor.Full && a.Reader != nil && a.Upstream != nil
}

// daemonAnswers returns a pricer that treats the daemon's answers as if evalctl had read the
// passages.
func (p *Plan) daemonAnswers(a Arm) (d daemonAnswers, err error) {
	c := p.actorConfig(a, nil, nil, nil)
	c.Style, c.Model = actor.RetrieveOnly, a.Reader.Model
	if c.Reader, err = llm.Open(llm.Config{
		Provider: a.Reader.Provider, Model: a.Reader.Model, BaseURL: a.Upstream.BaseURL, APIKey: a.Upstream.APIKey,
	}); err != nil {
		return d, err
	}
	if d.likely, err = actor.New(c); err != nil {
		return d, err
	}
	c.MaxTokens = outputLimit(c.Model)
	d.most, err = actor.New(c)
	return d, err
}

// Estimate implements pricer.
func (d daemonAnswers) Estimate(q source.Question, about source.HaystackInfo) actor.Forecast {
	f, most := d.likely.Estimate(q, about), d.most.Estimate(q, about)
	f.Worst, f.Call = most.Worst, most.Call
	return f
}

// outputLimit is the output limit that the gateway adds to a request without one.
func outputLimit(model string) int {
	if llm.IsReasoningModel(model) {
		return gateway.DefaultReasoningMaxTokens
	}
	return gateway.DefaultMaxTokens
}

// readingProvider returns the provider of the answering model.
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

// addExtraction adds the daemons' cost of extracting facts from all sessions.
func (p *Plan) addExtraction(e *PhaseEstimate) {
	sessions, text := p.haystackSize()
	windows := max(int64(sessions), (text+extractWindow-1)/extractWindow)
	most := int64(sessions) + 2*text/extractWindow
	provider := ""
	for _, a := range p.Arms {
		if !a.started() || a.Reader == nil {
			continue
		}
		provider = cmp.Or(provider, a.Reader.Provider)
		price, _ := p.Prices.Of(a.Reader.Provider, a.Reader.Model)
		likely := price.Cost(llm.Usage{
			InputTokens:  int((text + windows*extractPrompt) / bytesPerToken),
			OutputTokens: int((text/extractShare + windows*extractReply) / bytesPerToken),
		})
		e.add(int(windows), likely, price.Cost(llm.Usage{
			InputTokens:  int(daemonAttempts * (worstText*text + most*2*extractPrompt)),
			OutputTokens: int(daemonAttempts * most * int64(outputLimit(a.Reader.Model))),
		}))
	}
	for i, t := range p.duration(e.Calls, provider) {
		e.Time[i] += t
	}
}

// embedEstimate estimates the embedding of texts and questions by daemons, each text once.
func (p *Plan) embedEstimate() PhaseEstimate {
	e := PhaseEstimate{Phase: ledger.Embed}
	sessions, text := p.haystackSize()
	asked := int64(0)
	for _, q := range p.Questions {
		asked += int64(len(q.Text))
	}
	for _, a := range p.Arms {
		if a.Embedding == nil {
			continue
		}
		calls := sessions + len(p.Questions)
		price, _ := p.Prices.Of(a.Embedding.Provider, a.Embedding.Model)
		likely := price.Cost(llm.Usage{InputTokens: int((text + asked) / bytesPerToken)})
		e.add(calls, likely, price.Cost(llm.Usage{
			InputTokens: int(daemonAttempts * (worstText*(text+asked) + int64(calls)*embedBatch)),
		}))
	}
	e.Time = p.duration(e.Calls, llm.ProviderOpenAI)
	return e
}
