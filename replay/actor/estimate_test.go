package actor

import (
	"context"
	"testing"

	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// recording is a model that keeps the last request and answers nothing.
type recording struct{ last *llm.Request }

func (recording) Name() string { return llm.ProviderOpenAI }
func (r recording) Complete(_ context.Context, req llm.Request) (llm.Response, error) {
	*r.last = req
	return llm.Response{}, nil
}

// TestEstimate compares forecasts with the requests that are then made.
func TestEstimate(t *testing.T) {
	b := shared(t, "longmemeval/lme_mini.json")
	infos := map[string]source.HaystackInfo{}
	for _, info := range b.Infos() {
		infos[info.ID] = info
	}
	all := brainsOf(t, b)
	daemon := targetOf(t, search(t, all).URL, all)
	prices := llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}}
	meter, err := llm.NewMeter(recording{}, prices, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range append([]Style{RetrieveOnly}, Baselines...) {
		r := recording{new(llm.Request)}
		a := newActor(t, Config{Style: style, Target: daemon, TopK: 10, Reader: r, Model: "m", Prices: prices,
			Benchmark: b, QuestionDate: true})
		for _, q := range b.Questions {
			if _, err := a.Ask(t.Context(), q.Dataset(), questionTime); err != nil {
				t.Fatal(err)
			}
			f := a.Estimate(q, infos[q.Haystack])
			call, likely := meter.WorstCase(*r.last), meter.Likely(*r.last)
			if f.Call < call || f.Worst < f.Call || f.Likely > f.Call {
				t.Errorf("%s, %s: at most %s, and the request costs up to %s", style, q.ID, f.Call, call)
			}
			if f.Likely < likely/3 || f.Likely > 3*likely || f.Tokens.InputTokens < 200 || f.Tokens.OutputTokens < 200 {
				t.Errorf("%s, %s: likely %s with %+v, and %s", style, q.ID, f.Likely, f.Tokens, likely)
			}
		}
	}
	a := newActor(t, Config{Style: Full, Target: daemon, TopK: 10})
	if f := a.Estimate(b.Questions[0], source.HaystackInfo{}); f != (Forecast{}) {
		t.Errorf("got %+v", f)
	}
}
