package source

import (
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/scorer"
)

// plusBase is a conversation of LoCoMo with sessions on 1, 15 and 29 May.
const plusBase = `[{"sample_id": "c-1", "conversation": {"speaker_a": "Ann", "speaker_b": "Bob",
	"session_1_date_time": "1:56 pm on 1 May, 2023", "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hello."}],
	"session_2_date_time": "1:56 pm on 15 May, 2023", "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Good day."}],
	"session_3_date_time": "1:56 pm on 29 May, 2023", "session_3": [{"speaker": "Ann", "dia_id": "D3:1", "text": "Rain again."}]},
	"qa": []}]`

// plusFolder writes a file of LoCoMo-Plus beside LoCoMo's, unless that is empty.
func plusFolder(t *testing.T, plus, base string) string {
	t.Helper()
	path := writeFile(t, "locomo_plus.json", plus)
	if base == "" {
		return path
	}
	filetest.Write(t, filepath.Join(filepath.Dir(path), "locomo10.json"), base)
	return path
}

// plusEntry returns an entry with a time gap.
func plusEntry(gap string) object {
	return object{
		"relation_type": "causal", "time_gap": gap, "cue_dialogue": "A: I gave up coffee.\nB: Well done.",
		"trigger_query": "A: I sleep so well now.", "scores": object{"bm25": 1.5},
	}
}

// TestLoCoMoPlus dates a dialogue, and hides which session it is.
func TestLoCoMoPlus(t *testing.T) {
	b := open(t, plusFolder(t, encode(t, []object{plusEntry("about two weeks later"), plusEntry("a month later")}), plusBase), Options{})
	if b.Format != dataset.LoCoMoPlus || len(b.Questions) != 2 || len(b.Infos()) != 2 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	q := b.Questions[0].Dataset()
	if q.Question != "I sleep so well now." || q.QuestionDate != "2023-06-05T13:56:00Z" || q.JudgeType != scorer.TypePreference ||
		!strings.HasSuffix(q.ReferenceAnswer, "Ann: I gave up coffee.\nBob: Well done.") ||
		strings.Join(q.Tags, " ") != "type:cognitive relation:causal" || len(q.Checks) != 1 || len(q.ExpectedEvidence) != 2 || len(q.ExpectedSubstrings) != 0 {
		t.Errorf("%+v", q)
	}
	for i, want := range []struct {
		place int
		date  string
	}{{2, "2023-05-22T13:56:00Z"}, {1, "2023-05-06T13:56:00Z"}} {
		h := haystack(t, b, b.Questions[i].Haystack)
		cue := h.Sessions[want.place]
		if len(h.Sessions) != 4 || cue.Date != want.date || len(b.Questions[i].Gold) != 1 || b.Questions[i].Gold[0] != cue.Path {
			t.Errorf("entry %d: %+v", i, h)
		}
		text := string(cue.Document().Data)
		if !strings.Contains(text, "Ann: I gave up coffee.\nBob: Well done.") || strings.Contains(text+cue.Path+cue.ID, "cue") ||
			!strings.Contains(text, "# Ann and Bob, session "+string(rune('1'+want.place))+", 1:56 pm on ") {
			t.Errorf("entry %d: the document is %s", i, text)
		}
	}
}

// TestTimeGaps: phrases are the days that the authors' code reads them as.
func TestTimeGaps(t *testing.T) {
	for phrase, want := range map[string]int{
		"two weeks later": 14, "about one month later": 30, "A year later": 365, "an year": 365, "around 3 months after": 90,
		"twelve weeks later": 84, "around one week after the birth": 7, "half a year later": 365,
		"several years later": -1, "a few weeks later": -1, "next day": -1, "": -1, "thirteen weeks": -1, "6weeks": -1,
	} {
		days, read := gapDays(phrase)
		if !read {
			days = -1
		}
		if days != want {
			t.Errorf("%q is %d days, want %d", phrase, days, want)
		}
	}
}

// TestLoCoMoPlusIrregular counts what is not as it should be.
func TestLoCoMoPlusIrregular(t *testing.T) {
	e := plusEntry("several years later")
	e["cue_dialogue"] = `A: I gave up coffee. \nB: Well done.`
	b := open(t, plusFolder(t, encode(t, []object{e}), plusBase), Options{})
	h := haystack(t, b, "plus-001")
	if last := h.Sessions[3]; last.Date != b.Questions[0].Date || len(last.Turns) != 2 || last.Turns[0].Text != "I gave up coffee." {
		t.Errorf("%+v", last)
	}
	var kinds []string
	for _, trap := range b.Report.Traps {
		kinds = append(kinds, trap.Kind)
	}
	if got := strings.Join(kinds, " "); got != "line-end-as-text unreadable-time-gap" {
		t.Errorf("the traps are %s", got)
	}
}

// TestLoCoMoPlusRefused has files that lack something.
func TestLoCoMoPlusRefused(t *testing.T) {
	with := func(key, value string) string {
		e := plusEntry("two weeks later")
		e[key] = value
		return encode(t, []object{e})
	}
	whole := with("model_name", "m")
	for _, c := range []struct{ plus, base, want string }{
		{whole, "", "locomo10.json does not exist: get it with evalctl dataset fetch locomo10 --output "},
		{whole, "[]", "it has no conversations"},
		{whole, whole, `locomo10.json: conversation 1: `},
		{whole, strings.Replace(plusBase, "1:56 pm on 15 May", "noon on 15 May", 1), "session_2: the date"},
		{with("cue_dialogue", ""), plusBase, "entry 1: it has no cue_dialogue"},
		{with("trigger_query", "I sleep so well now."), plusBase, "each must begin with A: or B:"},
	} {
		_, err := Open(t.Context(), plusFolder(t, c.plus, c.base), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

// TestLoCoMoPlusFile reads the published entries with published conversations.
func TestLoCoMoPlusFile(t *testing.T) {
	read := func(name string) string {
		data := filetest.Read(t, sharedtest.Path(t, name))
		return string(data)
	}
	b := open(t, plusFolder(t, read("layouts/locomo-plus.json"), read("locomo/locomo5.json")), Options{})
	if len(b.Questions) != 4 || b.Questions[0].Gold == nil || strings.Contains(b.Questions[3].Answer, "A: ") {
		t.Errorf("%+v", b.Questions)
	}
}
