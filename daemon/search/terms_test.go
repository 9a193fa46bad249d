package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// Of a long question, the terms are left out that no chunk contains, then those that can add least.
func TestHeaviest(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "all.txt", Text: "every everywhere"})
	var names []string
	for i := range maxQueryTerms + 1 {
		names = append(names, fmt.Sprintf("name%dx", i))
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: names[i] + " every"})
	}
	for _, c := range []struct {
		name, question string
		kept, leftOut  []string
	}{
		{"short", "every unknown name1x", []string{"everi", "unknown", "name1x"}, nil},
		{"unknown first", "unknown every " + strings.Join(names[2:], " "), slices.Concat([]string{"everi"}, names[2:]), []string{"unknown"}},
		{"then common", "every " + strings.Join(names[1:], " "), names[1:], []string{"everi"}},
		{"the last of equal ones", strings.Join(names, " "), names[:maxQueryTerms], names[maxQueryTerms:]},
		{
			"repeated", strings.Join(names, " ") + " " + names[maxQueryTerms],
			append(slices.Clone(names[:maxQueryTerms-1]), names[maxQueryTerms]), names[maxQueryTerms-1 : maxQueryTerms],
		},
	} {
		question := Query{Text: c.question, Explain: true}
		res, err := NewSearcher(ix, Config{}).Search(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, name := range c.kept {
			want = append(want, language.English.Term(name))
		}
		if diff := gocmp.Diff(want, res.Explanation.Terms); diff != "" {
			t.Errorf("%s: terms differ (-want +got):\n%s", c.name, diff)
		}
		if !slices.Equal(c.leftOut, res.Explanation.LeftOut) {
			t.Errorf("%s: left out are %q, want %q", c.name, res.Explanation.LeftOut, c.leftOut)
		}
	}
}

// A question after 480 words of something else, as an agent passes it on: the terms that are left
// out hardly change what is found. Conversations are of LoCoMo, which no other task contains; the
// text before a question of Cranfield or CISI is that of its first relevant papers, and the others
// are to be found.
func TestLongQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	turns, _ := tasks[0].load(t)
	for _, tk := range tasks {
		papers := tk.dir == "cranfield" || tk.dir == "cisi"
		if !papers && tk.dir != "lme-evidence-turn" {
			continue
		}
		docs, questions := tk.load(t)
		questions = everyNth(questions, 0, 2)
		ix := tk.index(docs, nil)[""]
		texts := map[string]string{}
		for _, d := range docs {
			texts[d.Path] = d.Text
		}
		var all, kept, terms, leftOut float64
		for i, q := range questions {
			var pasted strings.Builder
			if papers {
				half := len(q.Expected) / 2
				for _, path := range q.Expected[:half] {
					pasted.WriteString(texts[path] + "\n")
				}
				q.Expected = q.Expected[half:]
			} else {
				for j := range 60 {
					pasted.WriteString(turns[(i*10+j)%len(turns)].Text + "\n")
				}
			}
			words := strings.Fields(pasted.String())
			q.Question = strings.Join(words[:min(480, len(words))], " ") + " " + q.Question
			every := ix.queryTerms(q.Question)
			heaviest, others := ix.heaviest(every)
			terms, leftOut = terms+float64(len(every)), leftOut+float64(len(others))
			for _, way := range []struct {
				terms []queryTerm
				sum   *float64
			}{{every, &all}, {heaviest, &kept}} {
				found, _ := ix.lexical(Query{Text: q.Question, AsOf: q.AsOf}, way.terms, source{keep: func(d *document.Document) bool { return (&Filter{}).keep(d, q.AsOf) }}, 10)
				var ranked []string
				for _, c := range found {
					ranked = append(ranked, ix.chunks[c.chunk].doc.Path)
				}
				*way.sum += recall(ranked, q.Expected, 10)
			}
		}
		n := float64(len(questions))
		t.Logf("%s: %.0f terms, %.0f left out, R@10 %.3f with all and %.3f without those", tk.name, terms/n, leftOut/n, all/n, kept/n)
		if leftOut/n < 5 || kept/n < all/n-.01 {
			t.Errorf("%s: R@10 is %.3f with %.0f of %.0f terms, %.3f with all", tk.name, kept/n, (terms-leftOut)/n, terms/n, all/n)
		}
	}
}
