package page

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
)

// TestSegmentsKeepTheAnswer checks that dividing an answer at its citations loses nothing, and that
// exactly the cited characters are marked.
func TestSegmentsKeepTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := []rune(rapid.StringOfN(rapid.RuneFrom([]rune("ab \nü🚢\u202e")), 0, 30, -1).Draw(t, "answer"))
		var citations []citation
		cited := map[int]bool{}
		for i := range rapid.IntRange(0, 4).Draw(t, "citations") {
			c := citation{N: i + 1, start: rapid.IntRange(0, len(answer)).Draw(t, "start")}
			c.end = rapid.IntRange(c.start, len(answer)).Draw(t, "end")
			citations = append(citations, c)
			for at := c.start; at < c.end; at++ {
				cited[at] = true
			}
		}
		var all, want strings.Builder
		for _, s := range segments(answer, citations) {
			all.WriteString(s.Text)
			if s.Cites != "" {
				want.WriteString(s.Text)
			}
		}
		if all.String() != clean(string(answer)) {
			t.Fatalf("the segments are %q, the answer %q", all.String(), string(answer))
		}
		var marked strings.Builder
		for at, r := range answer {
			if cited[at] {
				marked.WriteString(clean(string(r)))
			}
		}
		if want.String() != marked.String() {
			t.Fatalf("marked %q, want %q", want.String(), marked.String())
		}
	})
}

func FuzzCitation(f *testing.F) {
	f.Add("an answer", `{"chunk_id":"c","answer_start":1,"answer_end":4,"quote":"q"}`)
	f.Add("ü", `{"answerStart":-1,"answerEnd":1e300}`)
	f.Add("x", `[1`)
	f.Fuzz(func(t *testing.T, answer, raw string) {
		answer = strings.ToValidUTF8(answer, "\ufffd")
		q := &result.Record{Reply: result.Reply{Answer: answer, Retrieved: []result.Chunk{{ChunkID: "c"}}}}
		c := citationOf(1, []byte(raw), q, limits{quote: 100})
		got := ""
		for _, s := range segments([]rune(answer), []citation{c}) {
			got += s.Text
		}
		if got != clean(answer) {
			t.Errorf("%q became %q", answer, got)
		}
	})
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\tc\n":                    "a\nb\tc\n",
		"👩\u200d🚀 می\u200cخواهم":         "👩\u200d🚀 می\u200cخواهم",
		"a\u202eb\x00\u2028\u00ad\ufeff": "a[U+202E]b[U+0000][U+2028][U+00AD][U+FEFF]",
		"bad \xff":                       "bad \ufffd",
	} {
		if got := clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestPrefixCutsBetweenCharacters(t *testing.T) {
	long := strings.Repeat("aé🚢", 100)
	for most := range 60 {
		shown, more := prefix(long, most)
		if !utf8.ValidString(shown) || len(shown) > most || utf8.RuneCountInString(shown)+more != 300 || !strings.HasPrefix(long, shown) {
			t.Errorf("prefix(%d) = %q and %d more", most, shown, more)
		}
	}
	if shown, more := prefix("short enough", 5); more != 0 || shown != "short enough" {
		t.Errorf("a text within the slack became %q and %d more", shown, more)
	}
}

func TestTimelineInWords(t *testing.T) {
	q := &result.Record{Reply: result.Reply{LatencyMS: 1000, Timeline: result.Timeline{
		{Event: "retrieve", AtMS: 40}, {Event: "answer_delta", AtMS: 310, LastMS: 890, N: 34, GapMS: 60}, {Event: "done", AtMS: 2000},
	}}}
	for range 20 {
		q.Timeline = append(q.Timeline, result.StreamEvents{Event: "other", AtMS: 2001})
	}
	var d detail
	d.addTimeline(q)
	want := "retrieve 40 ms · answer_delta ×34 310 ms to 890 ms (longest pause 60 ms) · done 2.00 s · other"
	if !strings.HasPrefix(d.Events, want) || !strings.HasSuffix(d.Events, "· and 13 more groups of events") {
		t.Errorf("the stream is %q", d.Events)
	}
	if n := strings.Count(string(d.Timeline), `class="e-a" d="M77 0h145v1h-145z"`); n != 1 {
		t.Errorf("the answer is not drawn from 77 to 222 of 500: %s", fmt.Sprint(d.Timeline))
	}
}

// TestLongTable: a page has the first rows of a long table, and how many there are more.
func TestLongTable(t *testing.T) {
	table := form.NewTable(form.F("Many"), "n", "square")
	for i := range maxTableRows + 7 {
		table.Row(i, i*i)
	}
	s := form.Section{ID: "many", Title: "Many"}
	s.Show(form.HTML, table)
	var b strings.Builder
	if err := Write(&b, Content{Report: &form.Report{Sections: []form.Section{s}}}); err != nil {
		t.Fatal(err)
	}
	if page := b.String(); strings.Count(page, "<tr>") != maxTableRows+2 || !strings.Contains(page, "… and 7 more") || len(table.Rows) != maxTableRows+7 {
		t.Errorf("%d rows", strings.Count(page, "<tr>"))
	}
}
