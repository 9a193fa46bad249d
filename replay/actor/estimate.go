package actor

import (
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/llm"
	"evalctl/internal/reading"
	"evalctl/replay/source"
)

// Sizes in an ordinary haystack, in bytes.
const (
	ordinaryPassage = 1_200 // of JSON
	aroundNote      = 200   // added to a text by JSON, dates and titles
)

// Forecast is the expected use of the reader for one question.
type Forecast struct {
	// Likely is an estimate. Worst is the maximum cost of all attempts together, and Call the
	// maximum cost of one attempt.
	Likely, Worst, Call llm.USD
	// Tokens are the tokens of the likely case.
	Tokens llm.Usage
}

// Estimate forecasts the use of the reader for a question about a haystack. It is zero without a
// reader, such as for Full. Costs are 0 for a model without a known price.
func (a *Actor) Estimate(q source.Question, info source.HaystackInfo) Forecast {
	if a.meter == nil {
		return Forecast{}
	}
	likely, most := a.noteBytes(q, info)
	asked := len(jsonobj.Text(message{Question: q.Text, AskedOn: q.Date, Weekday: reading.Weekday(q.Date)}))
	request := func(notes int) llm.Request {
		return a.requestOf(strings.Repeat("x", asked+notes), nil)
	}
	usual := request(likely)
	call := a.meter.WorstCase(request(most))
	return Forecast{
		Likely: a.meter.Likely(usual), Call: call,
		Worst: maxReadings * llm.DefaultMaxAttempts * call,
		// Meter.Likely counts in the same way.
		Tokens: llm.Usage{
			InputTokens:  (len(systemPrompt) + asked + likely) / bytesPerToken,
			OutputTokens: a.cfg.MaxTokens / 4,
		},
	}
}

// escaped is the maximum number of bytes of JSON for one byte of text.
const escaped = 6

// bytesPerToken is typical of English.
const bytesPerToken = 4

// noteBytes returns the likely and the maximum size of the notes for a question.
func (a *Actor) noteBytes(q source.Question, info source.HaystackInfo) (likely, most int) {
	whole := int(info.TextBytes) + aroundNote*info.Sessions
	switch a.cfg.Style {
	case NoMemory:
		return 0, 0
	case FullContext:
		return min(whole, a.maxContext()), min(escaped*whole, a.maxContext())
	case Oracle, RandomSession:
		gold := len(q.Gold)
		if a.cfg.Style == RandomSession {
			gold = drawnFor(q)
		}
		return min(whole*min(gold, info.Sessions)/max(info.Sessions, 1), a.maxContext()), min(escaped*whole, a.maxContext())
	}
	return min(a.cfg.TopK*ordinaryPassage, whole, maxPassages), maxPassages
}

// pricedProvider wraps a provider that may be metered already, so that a meter accepts it. It is
// not called.
type pricedProvider struct{ llm.Provider }
