package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"evalctl/harness/result"
)

// kept returns the number of bytes of texts in a record that come from the daemon.
func kept(r *result.Record) int {
	n := len(r.Answer) + len(r.EffectiveMode) + len(r.Fusion) + len(r.Model) + len(r.PromptSHA256) + len(r.Error.Message)
	for _, f := range r.Failed {
		n += len(f.Message)
	}
	for _, c := range r.Citations {
		n += len(c)
	}
	for _, c := range r.Retrieved {
		n += chunkSize(c)
	}
	return n
}

func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			unit := rapid.SampledFrom([]string{"", "x", "ü", "漢", "\U0001F4A5"}).Draw(t, name)
			return strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 3, 100, 1000, 5000, 70_000}).Draw(t, name+" times"))
		}
		r := result.Record{
			Reply: result.Reply{Answer: text("answer"), EffectiveMode: text("mode"), Fusion: text("fusion"), Model: text("model"), PromptSHA256: text("prompt")},
			Error: &result.Failure{Kind: result.KindDaemon, Message: text("message")},
		}
		for range rapid.IntRange(0, 2).Draw(t, "attempts") {
			r.Failed = append(r.Failed, result.Failure{Message: text("attempt")})
		}
		for range rapid.SampledFrom([]int{0, 1, 5, 3000}).Draw(t, "citations") {
			r.Citations = append(r.Citations, json.RawMessage(`{"quote":"q"}`))
		}
		chunk := result.Chunk{Path: text("path"), Text: text("text"), Duplicates: []string{text("duplicate")}}
		for range rapid.SampledFrom([]int{0, 1, 50, 20_000}).Draw(t, "chunks") {
			r.Retrieved = append(r.Retrieved, chunk)
		}
		before, was := kept(&r), r
		bound(&r)
		if n := kept(&r); n > 64<<10 || r.CutBytes == 0 && n != before || r.CutBytes > before || before-r.CutBytes > n {
			t.Fatalf("kept %d of %d bytes, cut %d", n, before, r.CutBytes)
		}
		if before < 3<<10 && r.CutBytes > 0 && len(was.EffectiveMode)+len(was.Fusion)+len(was.Model)+len(was.PromptSHA256) < 1<<10 {
			t.Fatalf("cut %d of %d bytes", r.CutBytes, before)
		}
		for _, s := range []string{r.Answer, r.EffectiveMode, r.Error.Message} {
			if !utf8.ValidString(s) {
				t.Fatalf("cut inside a character: %q", s[len(s)-60:])
			}
		}
	})
}

func TestBoundMarksWhatIsCut(t *testing.T) {
	chunks := []result.Chunk{{Path: "a.md", Text: strings.Repeat("ü", 100_000)}, {Path: "b.md", Text: "short"}}
	message := strings.Repeat("x", maxMessage)
	r := result.Record{Reply: result.Reply{Answer: strings.Repeat("ü", 1<<20), Retrieved: chunks}, Error: &result.Failure{Message: message}}
	bound(&r)
	var mark int
	if i := strings.Index(r.Answer, " … ["); i < 0 {
		t.Fatalf("no mark: %q", r.Answer[len(r.Answer)-60:])
	} else if _, err := fmt.Sscanf(r.Answer[i:], " … [%d bytes cut]", &mark); err != nil || i+mark != 2<<20 {
		t.Errorf("%q at %d: %v", r.Answer[i:], i, err)
	}
	if r.Error.Message != message || r.Retrieved[1].Text != "short" || !strings.HasSuffix(r.Retrieved[0].Text, " bytes cut]") {
		t.Errorf("got %.20q and %q", r.Error.Message, r.Retrieved[1].Text)
	}
	if len(chunks[0].Text) != 200_000 {
		t.Error("the answer itself was changed")
	}
}
