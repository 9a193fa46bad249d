package gateway

import (
	"encoding/json"
	"errors"

	"evalctl/internal/llm"
)

// outcome is the outcome of a provider's answer.
type outcome struct {
	rejected bool // nothing was charged
	ended    bool // the whole answer arrived
	broken   bool // the answer broke off after its beginning had been sent to the daemon
	counted  bool // the provider counted the tokens
	usage    llm.Usage
	problem  string // why its count is implausible
}

// charge returns the charge for a request with an outcome. Without a whole answer or a plausible
// count, it may be the worst case.
func (c *call) charge(o outcome) llm.Charge {
	worst := c.worst()
	out := llm.Charge{Usage: o.usage, Unpriced: c.unpriced}
	switch {
	case o.rejected:
		return llm.Charge{Rejected: true, Unpriced: c.unpriced}
	case o.problem != "":
		out.Usage, out.UsageProblem = c.most(), o.problem
		out.Cost, out.Lost = worst, worst
	case o.counted:
		out.Cost = c.price.Cost(o.usage)
	case o.ended:
		out.Usage.Estimated = true
		out.Cost = c.price.Cost(o.usage)
		if c.capped {
			out.Cost = max(out.Cost, worst) // a cap cannot rely on a guess
			out.Lost = out.Cost
		}
	default:
		out.Usage = llm.Usage{}
		out.Cost, out.Lost = worst, worst
	}
	return out
}

// wireAnswer has the parts of an answer or a stream event that accounting needs.
type wireAnswer struct {
	Usage   *json.RawMessage `json:"usage"` // nil for null
	Choices []struct {
		Index        int                   `json:"index"`
		FinishReason string                `json:"finish_reason"`
		Message      struct{ Content any } `json:"message"`
		Delta        struct{ Content any } `json:"delta"`
	} `json:"choices"`
	Data []json.RawMessage `json:"data"` // of embeddings
}

// parseAnswer returns an empty answer for anything but JSON. Fields of an unexpected type are zero.
func parseAnswer(data []byte) (a wireAnswer) {
	err := json.Unmarshal(data, &a)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok {
		return wireAnswer{}
	}
	return a
}

// tally collects a provider's answer.
type tally struct {
	call     *call
	text     int // bytes
	finished map[int]bool
	withheld bool // a choice ended neither by itself nor at the limit on the output
	vectors  int
	counted  bool
	final    bool // the usage came when all choices had ended: some providers send a running count before
	usage    llm.Usage
	problem  string
}

func newTally(c *call) *tally { return &tally{call: c, finished: map[int]bool{}} }

func (t *tally) add(a wireAnswer) {
	if a.Usage != nil {
		t.usage, t.problem = llm.ParseUsage(*a.Usage)
		t.counted = t.usage.InputTokens > 0
		if t.counted && t.problem == "" {
			t.problem = t.call.overrun(t.usage)
		}
	}
	for _, choice := range a.Choices {
		for _, content := range []any{choice.Message.Content, choice.Delta.Content} {
			s, _ := content.(string)
			t.text += len(s)
		}
		switch choice.FinishReason {
		case "":
			if t.call.stream {
				continue
			}
		case "stop", "tool_calls", "function_call":
		default:
			t.withheld = t.withheld || !llm.IsCut(choice.FinishReason)
		}
		t.finished[choice.Index] = true
	}
	t.vectors += len(a.Data)
	if a.Usage != nil {
		t.final = len(t.finished) >= t.call.choices
	}
}

// whole reports whether the answer may be stored: it is complete, or its output limit cut it.
func (t *tally) whole() bool { return !t.withheld && t.ended() }

func (t *tally) ended() bool {
	if t.call.path == embeddings {
		return t.vectors > 0
	}
	return len(t.finished) > 0
}

// outcome estimates uncounted tokens at four bytes each.
func (t *tally) outcome() outcome {
	const bytesPerToken = 4
	if !t.counted {
		t.usage = llm.Usage{InputTokens: len(t.call.body) / bytesPerToken, OutputTokens: t.text / bytesPerToken, Estimated: true}
	}
	return outcome{ended: t.ended(), counted: t.counted, usage: t.usage, problem: t.problem}
}
