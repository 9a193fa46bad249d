package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/frontmatter"
)

func TestFactsDocument(t *testing.T) {
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	facts := []fact{{"Ana moved to Porto.", day}, {"Ana likes\n---\ntea: #green", time.Time{}}}
	text, err := factsDocument("s 1\n", day, facts)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(text, "\"\n---\n")
	if want := "\n- 2024-05-08: Ana moved to Porto.\n- Ana likes --- tea: #green\n"; body != want {
		t.Errorf("got %q, want %q", body, want)
	}
	doc := frontmatter.Parse(text)
	if doc.Source != "extract" || !doc.Date.Equal(day) || doc.Metadata["session_id"] != "s 1\n" || doc.Title != "Facts from session s 1" {
		t.Errorf("front matter %+v", doc.Fields)
	}
	if !isSealed(text) {
		t.Error("what the daemon wrote is not recognized")
	}
}

// TestSealBreaks: whatever is changed in a document, it is the user's from then on.
func TestSealBreaks(t *testing.T) {
	text, err := factsDocument("s1", time.Time{}, []fact{{Text: "Ana likes tea."}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		changed := text[:i] + string(text[i]^1) + text[i+1:]
		if isSealed(changed) {
			t.Errorf("byte %d changed, and still sealed: %q", i, changed)
		}
	}
	for _, changed := range []string{
		text + "x", text[1:], "", strings.Replace(text, "source: extract", "source: ingest", 1),
		strings.Replace(text, "\n---\n", "\ntags: mine\n---\n", 1), strings.ReplaceAll(text, "\n", "\r\n"),
		"---\nsource: extract\ncontent_sha256: \"" + noSeal + "\"\n---\nx",
	} {
		if isSealed(changed) {
			t.Errorf("still sealed: %q", changed)
		}
	}
}

func TestAddFacts(t *testing.T) {
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	first, err := addFacts(nil, "s1", day, []fact{{"a", day}, {"a", day}, {" ", day}, {"b", time.Time{}}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := addFacts([]byte(first), "s1", day.AddDate(0, 0, 1), []fact{{"b", time.Time{}}, {"c", day}})
	if err != nil {
		t.Fatal(err)
	}
	want := []fact{{"a", day}, {"b", time.Time{}}, {"c", day}}
	if diff := cmp.Diff(want, parseFacts(second)); diff != "" || !isSealed(second) {
		t.Errorf("sealed %v: %s", isSealed(second), diff)
	}
	edited := strings.TrimRight(second, "\n") + "\nmy own line"
	third, err := addFacts([]byte(edited), "s1", day, []fact{{"c", day}, {"d", day}})
	if want := edited + "\n- 2024-05-08: d\n"; err != nil || third != want || isSealed(third) {
		t.Errorf("%v, sealed %v: got %q, want %q", err, isSealed(third), third, want)
	}
}

// TestFactsRoundTrip: the facts of a document are those that were written, each on one line.
func TestFactsRoundTrip(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-:#*2024 \n\r\x{2028}\ta-c"]{0,30}`)).
		Filter(func(s string) bool { return factText(s) != "" })
	rapid.Check(t, func(rt *rapid.T) {
		facts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) fact {
			f := fact{Text: text.Draw(rt, "text")}
			if rapid.Bool().Draw(rt, "dated") {
				f.Date = time.Date(2024, 1, rapid.IntRange(1, 9999).Draw(rt, "day"), 0, 0, 0, 0, time.UTC)
			}
			return f
		}), 0, 5).Draw(rt, "facts")
		session := rapid.StringN(1, 128, -1).Draw(rt, "session")
		doc, err := factsDocument(session, time.Time{}, facts)
		if err != nil {
			rt.Fatal(err)
		}
		if !isSealed(doc) {
			rt.Fatalf("not sealed: %q", doc)
		}
		var want, got []string
		for _, f := range facts {
			want = append(want, f.String())
		}
		for _, f := range parseFacts(doc) {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%q: %s", doc, diff)
		}
	})
}

// FuzzFacts: what is read from a document of facts can be written and read again, and adding to a
// document loses nothing of it.
func FuzzFacts(f *testing.F) {
	for _, text := range []string{
		"", "- a\n", "- 2024-05-08: a\n- 2024-13-01: b\r\n-  c\n", "---\ntitle: x\n---\n- 2024-01-01: \n- : ", "- - a\n* b\n\n  - c",
		"---\nsource: extract\ncontent_sha256: \"" + noSeal + "\"\n---\n- a", "- a\xff\x00b", "- \u2028x", "- \x01\n",
	} {
		f.Add(text, "2024-05-08: new")
	}
	f.Fuzz(func(t *testing.T, text, added string) {
		facts := parseFacts(text)
		for _, one := range facts {
			again := parseFacts(one.String() + "\n")
			if len(again) != 1 || again[0].String() != one.String() || strings.ContainsAny(one.Text, "\r\n") {
				t.Fatalf("%q became %q", one, again)
			}
		}
		got, err := addFacts([]byte(text), "s", time.Time{}, []fact{{Text: added}})
		if err != nil {
			t.Fatal(err)
		}
		if !isSealed(text) && !strings.HasPrefix(got, text) {
			t.Fatalf("%q lost something: %q", text, got)
		}
		if isSealed(text) != isSealed(got) {
			t.Fatalf("%q changed owner: %q", text, got)
		}
	})
}
