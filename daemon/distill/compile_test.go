package distill_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/distill"
	"evalctl/internal/llm/llmtest"
)

var notes = []distill.Note{
	{Text: "Ana: I adopted a grey kitten named Pixel.", Date: date("2024-02-01")},
	{Text: "Ana: My bicycle has a flat tyre."},
	{Text: "Ana: The kitten Pixel broke a vase.", Date: date("2024-01-15")},
}

func TestCompileWithAModel(t *testing.T) {
	d, srv := scripted(t, llmtest.Reply{Text: `{"summaries":[{"title":"Pixel","text":"## Pixel\nA kitten.","from":[2,0]}]}`})
	got, use, err := d.Compile(t.Context(), notes)
	want := []distill.Summary{{Title: "Pixel", Text: "Pixel\nA kitten.", From: []int{0, 2}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || use.Model != "m" {
		t.Error(err, use, diff)
	}
	const user = `{"notes":[` +
		`{"id":0,"date":"2024-02-01","text":"Ana: I adopted a grey kitten named Pixel."},` +
		`{"id":2,"date":"2024-01-15","text":"Ana: The kitten Pixel broke a vase."},` +
		`{"id":1,"text":"Ana: My bicycle has a flat tyre."}]}`
	if got := srv.Calls()[0].Messages[1].Content; got != user {
		t.Errorf("request %s", got)
	}
}

func TestCompileOfAHostileModel(t *testing.T) {
	for name, tt := range map[string]struct{ summary, says string }{
		"no title":     {`{"text":"x","from":[0]}`, "summaries[0].title is missing"},
		"no text":      {`{"title":"x","from":[0]}`, "summaries[0].text is missing"},
		"cites none":   {`{"title":"x","text":"x","from":[]}`, "summaries[0].from is empty"},
		"no list":      {`{"title":"x","text":"x"}`, "summaries[0].from is not a list"},
		"a number":     {`{"title":"x","text":"x","from":0}`, "summaries[0].from is not a list"},
		"beyond":       {`{"title":"x","text":"x","from":[3]}`, "summaries[0].from names 3"},
		"negative":     {`{"title":"x","text":"x","from":[-1]}`, "summaries[0].from names -1"},
		"twice":        {`{"title":"x","text":"x","from":[1,1]}`, "names note 1 twice"},
		"words":        {`{"title":"x","text":"x","from":["1"]}`, "not a whole number"},
		"long title":   {`{"title":"` + strings.Repeat("x", distill.MaxTitle+1) + `","text":"x","from":[0]}`, "121 characters"},
		"text a list":  {`{"title":"x","text":["x"],"from":[0]}`, "text is not a string"},
		"not a object": {`7`, "not a list of objects"},
	} {
		bad := llmtest.Reply{Text: `{"summaries":[` + tt.summary + `]}`}
		d, _ := scripted(t, bad, bad)
		got, _, err := d.Compile(t.Context(), notes)
		if !errors.Is(err, distill.ErrReply) || !strings.Contains(err.Error(), tt.says) || got != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestFakeSummaries(t *testing.T) {
	got, _, err := fake(t).Compile(t.Context(), notes)
	want := []distill.Summary{{
		Title: "Kitten Pixel",
		Text:  "- 2024-01-15: Ana: The kitten Pixel broke a vase.\n- 2024-02-01: Ana: I adopted a grey kitten named Pixel.",
		From:  []int{0, 2},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	got, _, err = fake(t).Compile(t.Context(), []distill.Note{{Title: "Boat", Text: "one"}, {Title: "boat!", Text: "two"}, {Title: "Tea", Text: "three"}})
	want = []distill.Summary{{Title: "Boat", Text: "- one\n- two", From: []int{0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestCompileManyNotes: requests are bounded, and notes on one subject are in the same.
func TestCompileManyNotes(t *testing.T) {
	var many []distill.Note
	for i := range 400 {
		many = append(many, distill.Note{Text: fmt.Sprintf("Subject%d harbour%d concerns number %d.", i%200, i%200, i)})
	}
	many = append(many, distill.Note{Text: strings.Repeat("A long note. ", 5000)}, distill.Note{Text: " "})
	d, srv := served(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: `{"summaries":[]}`} })
	if _, _, err := d.Compile(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	calls := srv.Calls()
	for _, c := range calls {
		if len(c.Body) > 25_000 {
			t.Errorf("a request of %d bytes", len(c.Body))
		}
	}
	for i := range 200 {
		subject := fmt.Sprintf(`"Subject%d `, i)
		n := slices.IndexFunc(calls, func(c llmtest.Call) bool { return strings.Contains(c.Messages[1].Content, subject) })
		if n < 0 || strings.Count(calls[n].Messages[1].Content, subject) != 2 {
			t.Errorf("%s is divided", subject)
		}
	}
	if len(calls) < 3 || len(calls) > 8 {
		t.Errorf("%d requests", len(calls))
	}
}

func TestCompileProperties(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields("kitten harbour bicycle Porto vase the not # - 2024-05-08: `` violin"))
	note := rapid.Custom(func(rt *rapid.T) distill.Note {
		return distill.Note{
			Title: rapid.OneOf(rapid.Just(""), word).Draw(rt, "title"),
			Text:  strings.Join(rapid.SliceOfN(rapid.OneOf(word, rapid.String()), 0, 12).Draw(rt, "text"), " "),
		}
	})
	d := fake(t)
	rapid.Check(t, func(rt *rapid.T) {
		notes := rapid.SliceOfN(note, 0, 30).Draw(rt, "notes")
		got, _, err := d.Compile(t.Context(), notes)
		if err != nil {
			rt.Fatal(err)
		}
		again, _, _ := d.Compile(t.Context(), notes)
		if diff := cmp.Diff(got, again); diff != "" {
			rt.Fatalf("not deterministic: %s", diff)
		}
		cited := map[int]bool{}
		for _, s := range got {
			if len(s.From) < 2 || s.Title == "" || s.Text == "" {
				rt.Fatalf("%+v", s)
			}
			for _, i := range s.From {
				if i < 0 || i >= len(notes) || cited[i] {
					rt.Fatalf("note %d of %d", i, len(notes))
				}
				cited[i] = true
			}
		}
	})
}
