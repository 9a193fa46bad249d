package search

import "slices"

// leg is one ranking of chunks.
type leg struct {
	name       string      // the component constant of its scores
	candidates []candidate // best first
	parts      []features  // of the scores, in the same order; nil where they have none
	// cosines has the cosines of the candidates with a vector, for a fusion of scores.
	cosines map[uint32]float64
}

// rankSuffix converts the key of a component's score to the key of its rank.
const rankSuffix = "_rank"

// components adds the components that the leg has for its candidate i.
func (l *leg) components(i int, into map[string]float64) {
	if l.parts != nil {
		l.parts[i].components(into)
	} else {
		into[l.name] = l.candidates[i].score
	}
	if cosine, known := l.cosines[l.candidates[i].chunk]; known {
		into[componentVector] = cosine
	}
	if l.name != componentFusion {
		into[l.name+rankSuffix] = float64(i + 1)
	}
}

// explain returns the first n candidates of each leg. Called with mu held.
func (ix *Index) explain(terms, leftOut []queryTerm, legs []leg, n int) *Explanation {
	e := &Explanation{Terms: termNames(terms), LeftOut: termNames(leftOut)}
	for _, l := range legs {
		shown := Leg{Name: l.name, Candidates: []LegCandidate{}}
		for _, c := range l.candidates[:min(n, len(l.candidates))] {
			shown.Candidates = append(shown.Candidates, LegCandidate{ix.chunkID(c.chunk), c.score})
		}
		e.Legs = append(e.Legs, shown)
	}
	return e
}

// hitLeg returns a ranking of hits as a Leg.
func hitLeg(name string, hits []Hit) Leg {
	l := Leg{Name: name, Candidates: make([]LegCandidate, len(hits))}
	for i, h := range hits {
		l.Candidates[i] = LegCandidate{h.ChunkID, h.Score}
	}
	return l
}

// exhausted reports whether deeper legs would find nothing more.
func exhausted(legs []leg, depth int) bool {
	return !slices.ContainsFunc(legs, func(l leg) bool { return l.name != componentFusion && len(l.candidates) == depth })
}
