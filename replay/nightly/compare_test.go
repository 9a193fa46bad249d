package nightly

import (
	"testing"

	"evalctl/harness/result"
)

// armOf returns an arm with these outcomes by question: p passed, f failed, e error, u unscored, n
// without gold.
func armOf(outcomes map[string]rune) *measured {
	m := &measured{outcomes: map[string]outcome{}}
	for _, id := range []string{"q1", "q2", "q3", "q4", "q5", "q6"} {
		kind := map[rune]result.Outcome{'p': result.Scored, 'f': result.Scored, 'e': result.Errored, 'u': result.Unscored, 'n': result.NoGold}
		if o, ok := outcomes[id]; ok {
			m.ids = append(m.ids, id)
			m.outcomes[id] = outcome{kind: kind[o], passed: o == 'p'}
		}
	}
	return m
}

func TestPairOf(t *testing.T) {
	for name, c := range map[string]struct {
		a, b map[string]rune
		want pair
	}{
		"nothing": {nil, nil, pair{}},
		"scored": {map[string]rune{"q1": 'p', "q2": 'p', "q3": 'f', "q4": 'f'},
			map[string]rune{"q1": 'p', "q2": 'f', "q3": 'p', "q4": 'f'}, pair{both: 1, onlyA: 1, onlyB: 1, neither: 1}},
		"an error has not passed": {map[string]rune{"q1": 'e', "q2": 'p'}, map[string]rune{"q1": 'p', "q2": 'e'},
			pair{onlyA: 1, onlyB: 1}},
		"unscored in one": {map[string]rune{"q1": 'u', "q2": 'p'}, map[string]rune{"q1": 'p', "q2": 'u'}, pair{leftOut: 2}},
		"without gold":    {map[string]rune{"q1": 'n'}, map[string]rune{"q1": 'n'}, pair{leftOut: 1}},
		"in one only":     {map[string]rune{"q1": 'p'}, map[string]rune{"q2": 'p', "q3": 'f'}, pair{leftOut: 3}},
	} {
		if got := pairOf(armOf(c.a), armOf(c.b)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
