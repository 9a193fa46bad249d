package search

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/language"
)

func TestZZExp(t *testing.T) {
	if os.Getenv("EXP") == "" {
		t.Skip()
	}
	v, ix := large().corpus, large().index
	content := func() string {
		words := strings.Fields(large().docs[v.rng.IntN(len(large().docs))].Text)
		words = slices.DeleteFunc(words, func(w string) bool { return language.English.Term(w) == "" })
		v.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return strings.Join(words[:3+v.rng.IntN(4)], " ")
	}
	natural := func() string {
		return "What did I say about the " + content() + " when we " + strings.Join(v.words[30+v.rng.IntN(100):][:4], " ") + "?"
	}
	norm := ix.lengthNorm()
	for _, kind := range []struct {
		name string
		next func() string
	}{{"content", content}, {"natural", natural}} {
		var all, skippedGain, skippedMax float64
		for q := range 100 {
			terms := ix.known(ix.queryTerms(kind.next()))
			slices.SortFunc(terms, func(a, b weighedTerm) int { return len(ix.postings[a.term].chunks) - len(ix.postings[b.term].chunks) })
			maxc := make([]float64, len(terms))
			for i, tm := range terms {
				p := ix.postings[tm.term]
				for j, n := range p.chunks {
					maxc[i] = max(maxc[i], tm.weight*ix.gain(tm.term)*ix.saturated(weightedCount(ix.tally(tm.term, n, p.tallies[j]), norm(ix.textLengths[n]))))
				}
			}
			scores := map[uint32]float64{}
			doneG, doneM := false, false
			line := ""
			for i, tm := range terms {
				p := ix.postings[tm.term]
				all += float64(len(p.chunks))
				if doneG {
					skippedGain += float64(len(p.chunks))
				}
				if doneM {
					skippedMax += float64(len(p.chunks))
				}
				for j, n := range p.chunks {
					scores[n] += tm.weight * ix.gain(tm.term) * ix.saturated(weightedCount(ix.tally(tm.term, n, p.tallies[j]), norm(ix.textLengths[n])))
				}
				var s []float64
				for _, x := range scores {
					s = append(s, x)
				}
				slices.Sort(s)
				T := 0.
				if len(s) >= 300 {
					T = s[len(s)-300]
				}
				restG, restM := 0., 0.
				for k := i + 1; k < len(terms); k++ {
					restG += terms[k].weight * ix.gain(terms[k].term)
					restM += maxc[k]
				}
				doneG = T > restG
				doneM = T > restM
				line += fmt.Sprintf(" df=%d T=%.1f restG=%.1f restM=%.1f;", len(p.chunks), T, restG, restM)
			}
			if q < 8 {
				fmt.Println(kind.name, line)
			}
		}
		fmt.Printf("%s postings/query %.0f skipped with gains %.2f with max %.2f\n", kind.name, all/100, skippedGain/all, skippedMax/all)
	}
}
