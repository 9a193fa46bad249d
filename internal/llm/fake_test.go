package llm

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// askFake completes with v as JSON in the last user message.
func askFake(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Model: FakeModel, MaxTokens: 500, Messages: []Message{
		{RoleSystem, "rules"}, {RoleUser, "not this one"}, {RoleUser, string(b)}}}
	resp, err := NewFake().Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Text
}

type note struct {
	ID    int    `json:"id"`
	Title string `json:"title,omitempty"`
	Date  string `json:"date,omitempty"`
	Text  string `json:"text"`
}

type readerInput struct {
	Question     string `json:"question"`
	QuestionDate string `json:"question_date,omitempty"`
	Notes        []note `json:"notes"`
}

func TestFakeReader(t *testing.T) {
	harbour := note{ID: 1, Title: "Harbour", Text: "# Harbour café\n\n- The café opens at 7.30 on weekdays. Ask for J. Marsh.\n- Dogs stay outside.\n"}
	tide := note{ID: 2, Title: "Tides", Text: "High water was at noon. The ferry waits for nobody!"}
	old := note{ID: 3, Date: "2025-01-10", Text: "The ferry fare is four euros."}
	fresh := note{ID: 4, Date: "2025-06-01", Text: "The ferry fare is five euros."}
	for _, tt := range []struct {
		name string
		in   readerInput
		want string // a prefix: further quotes may follow
	}{
		{"bullet", readerInput{"When does the harbour café open?", "", []note{tide, harbour}}, "The café opens at 7.30 on weekdays."},
		{"stemmed", readerInput{"Where do dogs stay?", "", []note{tide, harbour}}, "Dogs stay outside."},
		{"newer wins", readerInput{"What is the ferry fare?", "", []note{old, fresh}}, "The ferry fare is five euros. The ferry fare is four"},
		{"before the update", readerInput{"What is the ferry fare?", "2025-03-01T12:00:00+02:00", []note{fresh, old}}, "The ferry fare is four euros."},
		{"the day itself", readerInput{"What is the ferry fare?", "2025-06-01T08:00:00Z", []note{old, fresh}}, "The ferry fare is five euros."},
		{"nothing", readerInput{"Which violin strings did Agnes buy?", "", []note{tide, harbour}}, fakeDontKnow},
		{"no notes", readerInput{"Where do dogs stay?", "", []note{}}, fakeDontKnow},
		{"no words", readerInput{"?", "", []note{tide}}, fakeDontKnow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := askFake(t, tt.in); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s...", got, tt.want)
			}
		})
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"One. Two! Three? four", []string{"One.", "Two!", "Three? four"}},
		{"Dr. Who met J. Marsh at 6 p.m. on Friday. Then left.", []string{"Dr. Who met J. Marsh at 6 p.m. on Friday.", "Then left."}},
		{"It cost 3.50 euros. \"Fine.\" Said he.", []string{"It cost 3.50 euros.", `"Fine."`, "Said he."}},
		{"## Head\r\n\r\n  - a b\n* c\n12. d e\n> quoted\n2025 was wet", []string{"Head", "a b", "c", "d e", "quoted", "2025 was wet"}},
		{"Ends here.  ", []string{"Ends here."}},
	} {
		if got := texts(tt.in); !cmp.Equal(got, tt.want) {
			t.Errorf("%q: %s", tt.in, cmp.Diff(tt.want, got))
		}
	}
}

func texts(text string) []string {
	var out []string
	for _, s := range sentences(text) {
		out = append(out, s.text)
	}
	return out
}

// Sentences keep every letter, in order, and each is a piece of the text.
func FuzzSentences(f *testing.F) {
	f.Add("# A\n- b. C! \"d.\" E\xff")
	f.Add("1. Dr. X... Y?")
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for _, s := range texts(text) {
			i := strings.Index(rest, s)
			if s == "" || i < 0 {
				t.Fatalf("%q is not next in %q", s, rest)
			}
			rest = rest[i+len(s):]
		}
	})
}

// Whatever the notes hold, the answer is made of whole sentences of theirs, so
// that citation offsets are exact, and is the same each time.
func TestFakeReaderQuotesVerbatim(t *testing.T) {
	word := rapid.SampledFrom([]string{"ferry", "Fare", "five", "the", "dogs.", "Dogs", "é\u2028x", "\"}", "- ", "\n", "# ", "?", "! "})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOf(word).Draw(t, "words"), " ") })
	rapid.Check(t, func(rt *rapid.T) {
		var notes []fakeNote
		var all []string
		for range rapid.IntRange(0, 4).Draw(rt, "notes") {
			n := fakeNote{Text: text.Draw(rt, "text"), Date: rapid.SampledFrom([]string{"", "2025-01-01", "x"}).Draw(rt, "date")}
			notes = append(notes, n)
			all = append(all, texts(n.Text)...)
		}
		question := text.Draw(rt, "question")
		got := quoteNotes(question, "", notes)
		if again := quoteNotes(question, "", notes); again != got {
			rt.Fatalf("%q, then %q", got, again)
		}
		if got != fakeDontKnow && !joined(got, all, maxQuotes) {
			rt.Fatalf("%q is not made of up to %d of %q", got, maxQuotes, all)
		}
	})
}

// joined tells whether s is up to n of the pieces, joined by single spaces.
func joined(s string, pieces []string, n int) bool {
	if n == 0 {
		return false
	}
	return slices.ContainsFunc(pieces, func(p string) bool {
		rest, ok := strings.CutPrefix(s, p)
		return ok && (rest == "" || strings.HasPrefix(rest, " ") && joined(rest[1:], pieces, n-1))
	})
}

func TestFakeJudge(t *testing.T) {
	for _, tt := range []struct {
		name, reference, candidate string
		want                       float64
	}{
		{"same", "Five euros", "It costs five euros.", 1},
		{"stemmed", "She paints boats", "painting a boat", 1},
		{"half", "red boat", "the boat is blue", 0.5},
		{"a third", "red wooden boat", "boat", 0.33},
		{"numbers", "14 March", "March 15", 0.5},
		{"nothing", "red boat", "", 0},
		{"stop words alone", "No", "no", 1},
		{"stop words differ", "No", "yes", 0},
		{"part of a word", "yes", "yesterday", 0},
		{"both abstain", "I don't know: not recorded.", "I don’t know.", 1},
		{"only reference abstains", "Not mentioned.", "Five euros", 0},
		{"only candidate abstains", "Five euros", "I do not know; perhaps five euros", 0},
		{"abstention quoted later", "Agnes was unsure", "Agnes was unsure. She said: I don't know.", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := askFake(t, map[string]string{"question": "q", "reference_answer": tt.reference, "candidate_answer": tt.candidate})
			var got struct {
				Score  *float64
				Reason string
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Score == nil || *got.Score != tt.want || got.Reason == "" {
				t.Errorf("got %s (%v), want %v", text, err, tt.want)
			}
		})
	}
}

func TestFakeRefusesOtherMessages(t *testing.T) {
	for _, content := range []string{"", "hello", "[]", "{}", `{"question":"q"}`, `{"notes":3}`, `{"reference_answer":"a"}`} {
		_, err := NewFake().Complete(t.Context(), ask(FakeModel, content))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Billed || !strings.Contains(err.Error(), "notes") || !strings.Contains(err.Error(), "candidate_answer") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestFakeStreamAndUsage(t *testing.T) {
	r := ask(FakeModel, `{"question":"ferry fare?","notes":[{"id":1,"text":"The ferry fare is five."}]}`)
	var words []string
	resp, err := NewFake().Stream(t.Context(), r, func(s string) error { words = append(words, s); return nil })
	want := Response{Text: "The ferry fare is five.", Model: "fake", FinishReason: "stop", Attempts: 1,
		Usage: Usage{InputTokens: (len(RoleUser) + len(r.Messages[0].Content) + 3) / 4, OutputTokens: 6}}
	if err != nil || resp != want || strings.Join(words, "") != resp.Text || len(words) != 5 {
		t.Error(err, words, cmp.Diff(want, resp))
	}
	r.MaxTokens = 2
	resp, err = NewFake().Complete(t.Context(), r)
	if err != nil || resp.Text != "The ferr" || resp.FinishReason != "length" {
		t.Error(resp, err)
	}
	stop := errors.New("enough")
	if _, err := NewFake().Stream(t.Context(), r, func(string) error { return stop }); err != stop { //nolint:errorlint // as it is
		t.Error(err)
	}
}
