package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Of a long question, the terms are left out that no chunk contains, then those that can add least.
func TestHeaviest(t *testing.T) {
	ix := New(nil)
	ix.Put(Document{Path: "all.txt", Text: "every everywhere"})
	var names []string
	for i := range maxQueryTerms + 1 {
		names = append(names, fmt.Sprintf("name%dx", i))
		ix.Put(Document{Path: fmt.Sprintf("%d.txt", i), Text: names[i] + " every"})
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
			want = append(want, term(name))
		}
		if diff := gocmp.Diff(want, res.Explanation.Terms); diff != "" {
			t.Errorf("%s: terms differ (-want +got):\n%s", c.name, diff)
		}
		if !slices.Equal(c.leftOut, res.Explanation.LeftOut) {
			t.Errorf("%s: left out are %q, want %q", c.name, res.Explanation.LeftOut, c.leftOut)
		}
	}
}
