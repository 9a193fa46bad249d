package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// text generates texts that are not blank, with characters that JSON escapes.
var text = rapid.Custom(func(t *rapid.T) string {
	runes := rapid.SliceOf(rapid.SampledFrom([]rune(" \n\t\"\\/{}[],:aé€😀\x01\u2028\ufffd<&"))).Draw(t, "runes")
	return string(runes) + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "letters")
})

// write writes v as JSON in one of the ways in which benchmarks are published.
func write(t *rapid.T, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(rapid.Bool().Draw(t, "escape"))
	enc.SetIndent("", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLongMemEvalRoundTrip checks that every session that is written is read, in order of its date.
func TestLongMemEvalRoundTrip(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		type session struct {
			id    string
			when  time.Time
			turns []Turn
		}
		var written []session
		in := lmeInstance(rapid.StringMatching(`[0-9a-zA-Z_ é]{0,80}x`).Draw(t, "id"))
		var ids, dates []string
		var chats [][]object
		for i := range rapid.IntRange(1, 8).Draw(t, "sessions") {
			s := session{id: fmt.Sprint("answer_", i)}
			s.when = time.Date(2023, 1, 1, 0, rapid.IntRange(0, 1e6).Draw(t, "minute"), 0, 0, time.UTC)
			chat := []object{}
			for range rapid.IntRange(1, 4).Draw(t, "turns") {
				role := rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role")
				content := text.Draw(t, "content")
				s.turns = append(s.turns, Turn{Role: role, Text: content})
				chat = append(chat, object{"content": content, "role": role})
			}
			layout := rapid.SampledFrom([]string{lmeLayout, "2006-01-02T15:04:05"}).Draw(t, "layout")
			written = append(written, s)
			ids, dates, chats = append(ids, s.id), append(dates, s.when.Format(layout)), append(chats, chat)
		}
		gold := rapid.SampledFrom(ids).Draw(t, "gold")
		in["haystack_session_ids"], in["haystack_dates"], in["haystack_sessions"] = ids, dates, chats
		in["answer_session_ids"], in["answer"] = []string{gold}, text.Draw(t, "answer")

		b := open(tb, writeFile(tb, "a.json", write(t, []object{in})), Options{})
		slices.SortStableFunc(written, func(a, b session) int { return a.when.Compare(b.when) })
		h := haystack(tb, b, in["question_id"].(string))
		if len(h.Sessions) != len(written) {
			t.Fatalf("%d sessions, want %d", len(h.Sessions), len(written))
		}
		for i, want := range written {
			got := h.Sessions[i]
			if diff := cmp.Diff(want.turns, got.Turns); diff != "" || got.SourceID != want.id ||
				got.Date != want.when.Format(time.RFC3339) {
				t.Fatalf("session %s of %s, want %s of %s\n%s", got.SourceID, got.Date, want.id, want.when, diff)
			}
			if isGold := got.Path == b.Questions[0].Gold[0]; isGold != (want.id == gold) {
				t.Fatalf("%s is gold: %t", got.Path, isGold)
			}
		}
		if b.Questions[0].Answer != in["answer"] {
			t.Fatalf("answer %q, want %q", b.Questions[0].Answer, in["answer"])
		}
	})
}

// TestLoCoMoRoundTrip checks that every turn that is written is read, and gold in the order of the
// evidence.
func TestLoCoMoRoundTrip(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		c := locomoConversation()
		var want [][]Turn
		n := rapid.IntRange(2, 12).Draw(t, "sessions")
		for i := 1; i <= n; i++ {
			var said []object
			var turns []Turn
			for j := range rapid.IntRange(1, 4).Draw(t, "turns") {
				turn := Turn{
					Role: "user", Name: "Ann", Text: text.Draw(t, "text"), SourceID: fmt.Sprintf("D%d:%d", i, j+1),
				}
				if rapid.Bool().Draw(t, "bob") {
					turn.Role, turn.Name = "assistant", "Bob"
				}
				turns = append(turns, turn)
				said = append(said, object{"speaker": turn.Name, "text": turn.Text, "dia_id": turn.SourceID})
			}
			want = append(want, turns)
			talk(c)[fmt.Sprintf("session_%d", i)] = said
			talk(c)[fmt.Sprintf("session_%d_date_time", i)] = fmt.Sprintf("%d:07 pm on 8 May, 2023", i%12+1)
		}
		sessions := rapid.Permutation(makeRange(1, n)).Draw(t, "evidence")
		var evidence, gold []string
		for _, i := range sessions {
			evidence = append(evidence, fmt.Sprintf("D%d:1", i))
			gold = append(gold, fmt.Sprintf("locomo/conv-7/session-%02d.md", i))
		}
		first(c)["evidence"] = evidence
		if rapid.Bool().Draw(t, "joined") {
			first(c)["evidence"] = []string{strings.Join(evidence, "; ")}
		}

		b := open(tb, writeFile(tb, "a.json", write(t, []object{c})), Options{})
		if diff := cmp.Diff(gold, b.Questions[0].Gold); diff != "" {
			t.Fatal(diff)
		}
		for _, s := range haystack(tb, b, "conv-7").Sessions {
			var number int
			if _, err := fmt.Sscanf(s.SourceID, "session_%d", &number); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[number-1], s.Turns); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func makeRange(from, to int) (list []int) {
	for i := from; i <= to; i++ {
		list = append(list, i)
	}
	return list
}
