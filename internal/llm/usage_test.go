package llm

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"evalctl/internal/llm/llmtest"
)

// usages are what providers report, with what is read of it.
var usages = []struct {
	raw     string
	want    Usage
	problem string
}{
	{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, Usage{10, 5, false}, ""},
	{`{"prompt_tokens":10,"completion_tokens":5}`, Usage{10, 5, false}, ""},
	{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":95}`, Usage{10, 85, false}, ""}, // reasoning
	{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":12}`, Usage{10, 5, false}, ""},
	{`{"prompt_tokens":10,"total_tokens":10}`, Usage{10, 0, false}, ""}, // of embeddings
	{`{"prompt_tokens":1e1,"completion_tokens":5.0}`, Usage{10, 5, false}, ""},
	{`null`, Usage{}, ""},
	{`{}`, Usage{}, ""},
	{`{"prompt_tokens":0,"completion_tokens":5}`, Usage{}, ""},
	{`{"prompt_tokens":-1,"completion_tokens":5}`, Usage{}, "prompt_tokens is -1"},
	{`{"prompt_tokens":10,"completion_tokens":-5}`, Usage{}, "completion_tokens is -5"},
	{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":-1}`, Usage{}, "total_tokens is -1"},
	{`{"prompt_tokens":"10","completion_tokens":5}`, Usage{}, `prompt_tokens is "10"`},
	{`{"prompt_tokens":10,"completion_tokens":9223372036854775808}`, Usage{}, "completion_tokens is 9223372036854775808"},
	{`{"prompt_tokens":10,"completion_tokens":1e400}`, Usage{}, "completion_tokens is 1e400"},
	{`{"prompt_tokens":10,"completion_tokens":1e30}`, Usage{}, "completion_tokens is 1e30"},
	{`{"prompt_tokens":10.5,"completion_tokens":1}`, Usage{}, "prompt_tokens is 10.5"},
	{`{"prompt_tokens":[10],"completion_tokens":1}`, Usage{}, "prompt_tokens is [10]"},
	{`[1]`, Usage{}, "usage is [1], not an object"},
	{`"many"`, Usage{}, `usage is "many", not an object`},
}

func TestParseUsage(t *testing.T) {
	for _, tt := range usages {
		got, problem := ParseUsage([]byte(tt.raw))
		if got != tt.want || (problem == "") != (tt.problem == "") || !strings.HasPrefix(problem, tt.problem) {
			t.Errorf("%s: got %+v, %q", tt.raw, got, problem)
		}
	}
}

// TestHostileUsage: whatever a provider says that it counted, the answer is not lost, and what
// cannot be is charged as the worst case.
func TestHostileUsage(t *testing.T) {
	reported := usages
	for _, raw := range []string{
		`{"prompt_tokens":10,"completion_tokens":5000}`,                   // above the limit of the output
		`{"prompt_tokens":10,"completion_tokens":1,"total_tokens":99999}`, // the same in the total
		fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d}`, math.MaxInt64, math.MaxInt64),
	} {
		reported = append(reported, struct {
			raw     string
			want    Usage
			problem string
		}{raw, Usage{}, ""})
	}
	for i, tt := range reported {
		body := `{"model":"m","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":` + tt.raw + `}`
		stream := `data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"choices":[],"usage":` + tt.raw + "}\n\ndata: [DONE]\n\n"
		m, _ := openMeter(t, NewBudget(Dollar), llmtest.Script(llmtest.Reply{Body: body}, llmtest.Reply{Body: stream}))
		r := ask("m", "q")
		var seen []Charge
		ctx := WithWitness(t.Context(), func(Charge) (func(string, Charge), error) {
			return func(_ string, c Charge) { seen = append(seen, c) }, nil
		})
		whole, err := m.Complete(ctx, r)
		streamed, streamErr := m.Complete(ctx, streamed(r, func(string) error { return nil }))
		if err != nil || streamErr != nil || len(seen) != 2 {
			t.Fatalf("%s: %v, %v, %d attempts", tt.raw, err, streamErr, len(seen))
		}
		believed := tt.want != Usage{}
		nonsense := tt.problem != "" || i >= len(usages)
		want := m.WorstCase(r)
		if believed {
			want = USD(tt.want.InputTokens+tt.want.OutputTokens) * token
		}
		for j, resp := range []Response{whole, streamed} {
			c := seen[j]
			if resp.Text != "hi" || resp.Cost != want || (resp.UsageProblem != "") != nonsense ||
				c.UsageProblem != resp.UsageProblem || (c.Lost == 0) != believed {
				t.Errorf("%s: %+v, %+v, want %s", tt.raw, resp, c, want)
			}
		}
	}
}

func TestUsageSaturates(t *testing.T) {
	got := Usage{math.MaxInt, 1, false}.Plus(Usage{1, math.MaxInt, false})
	if want := (Usage{math.MaxInt, math.MaxInt, false}); got != want {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseUsage(f *testing.F) {
	for _, tt := range usages {
		f.Add([]byte(tt.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, problem := ParseUsage(raw)
		if u.InputTokens < 0 || u.OutputTokens < 0 || problem != "" && u != (Usage{}) {
			t.Errorf("got %+v, %q", u, problem)
		}
		if problem == "" && (Price{Dollar, Dollar}).Cost(u) < 0 {
			t.Errorf("%+v has a negative cost", u)
		}
	})
}
