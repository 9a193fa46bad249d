package search

import "maps"

// rankSuffix makes the key of a component's rank from that of its score.
const rankSuffix = "_rank"

// components adds what the leg says of its candidate i.
func (l *leg) components(i int, into map[string]float64) {
	if l.parts != nil {
		maps.Copy(into, l.parts[i].components())
	} else {
		into[l.name] = l.candidates[i].score
	}
	if l.name != componentFusion {
		into[l.name+rankSuffix] = float64(i + 1)
	}
}

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
