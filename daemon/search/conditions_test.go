package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/question"
)

// garage is an index of short notes in several languages.
func garage() *Index {
	ix := New(&Options{ChunkSize: document.MinChunkSize})
	for path, text := range map[string]string{
		"a/red.md":    "The red car is in the garage.",
		"b/cars.md":   "Two red cars and a blue one. The car was red.",
		"c/blue.md":   "A blue bike in the garage, and no car.",
		"d/hamlet.md": "To be, or not to be: that is the question.",
		"e/tokyo.md":  "昨日、東京都庁の前で写真を撮った。",
		"f/thai.md":   "ในประเทศไทยมีอาหารอร่อย",
		"g/cafe.md":   "Le Café de Flore est à Paris, l'eau y est bonne.",
		"h/long.md": "A long note about engines and oil, which says nothing else at all.\n\n" +
			"Its second part has the blue whale, and much about the sea.\n\nIts third part is about the harbour only, and boats.",
		"i/red-car/x.md": "What is here is named by its folder.",
	} {
		doc, _ := document.Parse(path, text)
		ix.Put(doc)
	}
	ix.Put(document.Document{Path: "j/titled.txt", Title: "Blue Moon", Tags: []string{"old song"}, Text: strings.Repeat("Nothing of it is in the text. ", 8)})
	return ix
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string // documents, in no particular order
	}{
		{`"red car"`, []string{"a/red.md", "i/red-car/x.md"}},
		{`"RED CÀR"`, []string{"a/red.md", "i/red-car/x.md"}},
		{`"car red"`, nil},
		{`garage "red car" -sea`, []string{"a/red.md", "i/red-car/x.md"}},
		{`"to be or not to be"`, []string{"d/hamlet.md"}},
		{`"to be" -question`, nil},
		{`"to be" -answer`, []string{"d/hamlet.md"}},
		{`garage -red`, []string{"c/blue.md"}},
		{`car -"red car"`, []string{"b/cars.md", "c/blue.md"}},
		{`car -cars`, []string{"a/red.md", "c/blue.md", "i/red-car/x.md"}},
		{`gar*`, []string{"a/red.md", "c/blue.md"}},
		{`car* -garage`, []string{"b/cars.md", "i/red-car/x.md"}},
		{`"blue bike" OR "red car"`, []string{"a/red.md", "c/blue.md", "i/red-car/x.md"}},
		{`bike OR "to be"`, []string{"c/blue.md", "d/hamlet.md"}},
		{`bikes OR whales`, []string{"c/blue.md", "h/long.md"}},
		{`the OR "red car"`, []string{"a/red.md", "b/cars.md", "c/blue.md", "d/hamlet.md", "h/long.md", "i/red-car/x.md", "j/titled.txt"}},
		{`"blue" "garage"`, []string{"c/blue.md"}},
		{`"東京"`, []string{"e/tokyo.md"}},
		{`"京都"`, []string{"e/tokyo.md"}},
		{`"ประเทศไทย"`, []string{"f/thai.md"}},
		{`"cafe de flore"`, []string{"g/cafe.md"}},
		{`"eau"`, []string{"g/cafe.md"}},
		{`"blue moon"`, []string{"j/titled.txt"}},
		{`"old song"`, []string{"j/titled.txt"}},
		{`"engines" "harbour"`, []string{"h/long.md"}}, // in different passages
		{`"nothing here"`, nil},
		{`"engines" -harbour`, nil}, // the document contains it
	} {
		words, conditions, operators := question.ParseOperators(c.query)
		if len(operators) == 0 {
			t.Errorf("%s has no operators", c.query)
		}
		for _, s := range []struct {
			cfg  Config
			mode Mode
		}{
			{Config{}, ModeBM25},
			{Config{Embedder: &meanings{}}, ModeSemantic},
			{Config{Embedder: &meanings{}}, ModeHybrid},
			{Config{Embedder: &meanings{}, Fusion: FusionRRF}, ModeHybrid},
			{Config{Embedder: &meanings{}, Reranker: &byLength{}}, ModeHybridRerank},
		} {
			res := search(t, NewSearcher(garage(), s.cfg), Query{
				Text: words, Conditions: conditions, Mode: s.mode, TopK: 50, MaxPerDocument: 1,
			})
			got := paths(res)
			slices.Sort(got)
			if s.mode == ModeBM25 || len(conditions.All) > 0 {
				if !slices.Equal(got, c.want) {
					t.Errorf("%s finds %q in mode %s, want %q", c.query, got, s.mode, c.want)
				}
			} else if excludesAny(t, conditions, res) {
				t.Errorf("%s finds %q in mode %s", c.query, got, s.mode)
			}
			for _, h := range res.Hits {
				if !(h.Score > 0) && s.mode == ModeBM25 {
					t.Errorf("%s: %s scores %v", c.query, h.Path, h.Score)
				}
			}
		}
	}
}

// TestSignsAroundAlternatives: signs around a word change nothing of what an OR finds.
func TestSignsAroundAlternatives(t *testing.T) {
	for _, form := range []string{"#%s", "@%s", "%s++", ".%s", "$%s", "%s%%", "%s,", "_%s_", "«%s»", "(%s", "(%s)", "[%s]", `"%s`, `("%s")`, "%s)"} {
		signed := fmt.Sprintf(form, "bikes")
		for _, text := range []string{signed + " OR whales", "whales OR " + signed, "whales OR " + signed + " -car"} {
			words, conditions, _ := question.ParseOperators(text)
			got := paths(search(t, NewSearcher(garage(), Config{}), Query{Text: words, Conditions: conditions, Mode: ModeBM25, TopK: 50, MaxPerDocument: 1}))
			slices.Sort(got)
			want := []string{"c/blue.md", "h/long.md"}
			if len(conditions.None) > 0 {
				want = want[1:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s finds %q, want %q", text, got, want)
			}
		}
	}
}

func excludesAny(t *testing.T, c question.Conditions, res Result) bool {
	t.Helper()
	return slices.ContainsFunc(res.Hits, func(h Hit) bool {
		return slices.ContainsFunc(c.None, func(p language.Phrase) bool { return p.In(h.Title + " " + h.Text) })
	})
}

// Of a long document, the passages are found that contain what was asked for, which is highlighted.
func TestConditionsChoosePassages(t *testing.T) {
	words, conditions, _ := question.GivenOperators(`"blue whale" part`)
	res := search(t, NewSearcher(garage(), Config{}), Query{Text: words, Conditions: conditions})
	if len(res.Hits) != 1 || !strings.Contains(res.Hits[0].Text, "blue whale") {
		t.Fatalf("found %+v", res.Hits)
	}
	h := res.Hits[0]
	var marked []string
	for _, s := range h.Highlights {
		marked = append(marked, string([]rune(h.Text)[s.Start:s.End]))
	}
	if want := []string{"part", "blue whale"}; !slices.Equal(marked, want) {
		t.Errorf("highlights are %q, want %q", marked, want)
	}
	words, conditions, _ = question.ParseOperators(`engi*`)
	res = search(t, NewSearcher(garage(), Config{}), Query{Text: words, Conditions: conditions})
	if len(res.Hits) != 1 || !slices.Contains(res.Hits[0].Highlights, Span{18, 22}) {
		t.Errorf("a prefix finds %+v", res.Hits)
	}
}

// A phrase that the end of a passage cuts belongs to the passage in which it begins.
func TestConditionsAcrossPassages(t *testing.T) {
	ix := New(&Options{ChunkSize: document.MinChunkSize})
	ix.Put(document.Document{Path: "a.txt", Text: strings.Repeat("Words that fill a line of text up.\n\n", 3) + "The end\n\nhere begins another passage of this text, of more words than fit."})
	words, conditions, _ := question.ParseOperators(`"here begins"`)
	res := search(t, NewSearcher(ix, Config{}), Query{Text: words, Conditions: conditions})
	if len(res.Hits) != 1 || !strings.HasSuffix(res.Hits[0].Text, "here") {
		t.Errorf("found %+v", res.Hits)
	}
}

// With conditions, the passages are found that the definition at Conditions says, and no others. A
// text without operators has none, so that it is ranked as it is.
func TestConditionsProperty(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields("cat cats Cät dog the sea of"))
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 20).Draw(t, "words"), " ")
	})
	operator := rapid.Custom(func(t *rapid.T) string {
		s := word.Draw(t, "word")
		switch rapid.IntRange(0, 5).Draw(t, "operator") {
		case 0:
			return `"` + s + " " + word.Draw(t, "second word") + `"`
		case 1:
			return "-" + s
		case 2:
			return s[:2] + "*"
		case 3:
			return "OR"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		ix := New(&Options{ChunkSize: document.MinChunkSize})
		var docs []document.Document
		for i := range rapid.IntRange(1, 6).Draw(t, "documents") {
			docs = append(docs, document.Document{
				Path: fmt.Sprintf("%d.txt", i), Text: text.Draw(t, "text"), Language: language.English,
				Title: rapid.SampledFrom([]string{"", "cat dog"}).Draw(t, "title"), Date: time.Unix(0, 0),
			})
		}
		ix.Put(docs...)
		query := strings.Join(rapid.SliceOfN(operator, 1, 5).Draw(t, "query"), " ")
		words, c, operators := question.ParseOperators(query)
		res, err := NewSearcher(ix, Config{}).Search(t.Context(), Query{Text: words, Conditions: c, TopK: 100})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := NewSearcher(ix, Config{}).Search(t.Context(), Query{Text: query, TopK: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(operators) == 0 {
			if diff := gocmp.Diff(plain, res); diff != "" {
				t.Errorf("%q has no operators, and finds something else (-plain +got):\n%s", query, diff)
			}
		}
		found := map[string]bool{}
		for _, h := range res.Hits {
			found[h.Path] = true
			for _, d := range h.Duplicates {
				found[d.Path] = true
			}
		}
		for _, d := range docs {
			if got, want := found[d.Path], definition(d, c); len(c.All) > 0 && got != want || got && !want {
				t.Errorf("%q finds %q: %t, want %t", query, d.Title+"|"+d.Text, got, want)
			}
		}
	})
}

// definition reports whether a document meets conditions, in the plainest way.
func definition(d document.Document, c question.Conditions) bool {
	in := func(a question.Alternative) bool {
		if a.Word != "" && language.English.Term(a.Word) != "" {
			return slices.Contains(language.English.Terms(d.Title+" "+d.Text), language.English.Term(a.Word))
		}
		p := a.Written
		if a.Word != "" {
			p = language.NewPhrase(a.Word, false)
		}
		return p.In(d.Title) || p.In(d.Text)
	}
	return !excludes(c, &d) && !slices.ContainsFunc(c.All, func(group []question.Alternative) bool { return !slices.ContainsFunc(group, in) })
}

// BenchmarkConditions asks an index of 100,000 chunks, 80 MB of text, for its ten best with and
// without each operator.
func BenchmarkConditions(b *testing.B) {
	text := strings.Join(strings.Fields(large().docs[7].Text)[20:24], " ")
	for _, query := range []string{text, `"` + text + `"`, text + " -gankamo", text + " ganka*"} {
		b.Run(query, func(b *testing.B) {
			words, c, _ := question.ParseOperators(query)
			for b.Loop() {
				if _, err := NewSearcher(large().index, Config{}).Search(b.Context(), Query{Text: words, Conditions: c}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Questions of retrieval tasks are plain text.
func TestQuestionsHaveNoOperators(t *testing.T) {
	for _, tk := range slices.Concat(tasks, languageTasks) {
		t.Run(tk.name, func(t *testing.T) {
			_, questions := tk.load(t)
			for _, q := range questions {
				if _, _, operators := question.ParseOperators(q.Question); len(operators) > 0 {
					t.Errorf("%q has operators: %q", q.Question, operators)
				}
			}
		})
	}
}
