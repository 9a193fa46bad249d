package llm

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// askFake returns a request that the offline provider answers with text.
func askFake(text string) Request {
	r := ask(FakeModel, "When does the ferry leave?")
	r.Fake = func() string { return text }
	return r
}

func TestFakeNeedsAnAnswer(t *testing.T) {
	_, err := NewFake().Complete(t.Context(), ask(FakeModel, `{"question":"q","notes":[]}`))
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Billed || !strings.Contains(err.Error(), "no offline answer") || !strings.Contains(err.Error(), "SVC_LLM_PROVIDER") {
		t.Error(err)
	}
	if _, err := NewFake().Complete(t.Context(), streamed(ask(FakeModel, "q"), nil)); err == nil {
		t.Error("a stream without an answer")
	}
}

func TestFakeStreamAndUsage(t *testing.T) {
	r := askFake("The ferry fare is five.")
	var words []string
	resp, err := NewFake().Complete(t.Context(), streamed(r, func(s string) error { words = append(words, s); return nil }))
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
	if _, err := NewFake().Complete(t.Context(), streamed(r, func(string) error { return stop })); err != stop { //nolint:errorlint // as it is
		t.Error(err)
	}
}

// A token limit is respected, loses less than one character, and never cuts inside one.
func TestFakeCutsBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		text   string
		tokens int
		want   string
	}{
		{"café", 1, "caf"}, // the limit is inside the é
		{"cafés", 2, "cafés"},
		{"ab日本", 1, "ab"},
		{"a🚢", 1, "a"},
		{"🚢🚢", 1, "🚢"},
		{"abc", 1 << 62, "abc"}, // four times as many bytes overflow
	} {
		r := askFake(tt.text)
		r.MaxTokens = tt.tokens
		resp, err := NewFake().Complete(t.Context(), r)
		if cut := tt.want != tt.text; err != nil || resp.Text != tt.want || cut != (resp.FinishReason == "length") {
			t.Errorf("%q in %d tokens: got %q, %s, %v", tt.text, tt.tokens, resp.Text, resp.FinishReason, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := askFake(rapid.String().Draw(t, "text"))
		r.MaxTokens = rapid.IntRange(1, 8).Draw(t, "tokens")
		resp, err := NewFake().Complete(t.Context(), r)
		rest, prefix := strings.CutPrefix(r.Fake(), resp.Text)
		limit := 4 * r.MaxTokens
		if err != nil || !prefix || !utf8.ValidString(resp.Text) || len(resp.Text) > limit ||
			rest != "" && len(resp.Text) <= limit-utf8.UTFMax {
			t.Fatalf("%q, cut at %d bytes: got %q, %v", r.Fake(), limit, resp.Text, err)
		}
	})
}
