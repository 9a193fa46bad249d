package search

// explain tells the first n candidates of each leg. Called with mu held.
func (ix *Index) explain(terms []string, legs []leg, n int) *Explanation {
	e := &Explanation{Terms: terms}
	for _, l := range legs {
		shown := Leg{Name: l.name, Candidates: []LegCandidate{}}
		for _, c := range l.candidates[:min(n, len(l.candidates))] {
			shown.Candidates = append(shown.Candidates, LegCandidate{ix.chunkID(c.chunk), c.score})
		}
		e.Legs = append(e.Legs, shown)
	}
	return e
}

// hitLeg is the leg of a ranking of hits.
func hitLeg(name string, hits []Hit) Leg {
	l := Leg{Name: name, Candidates: make([]LegCandidate, len(hits))}
	for i, h := range hits {
		l.Candidates[i] = LegCandidate{h.ChunkID, h.Score}
	}
	return l
}

func (ix *Index) chunkID(n uint32) string {
	return chunkID(ix.chunks[n].doc.Path, int(ix.chunks[n].ordinal))
}
