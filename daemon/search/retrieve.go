package search

// retrieve ranks by the method, without reranking. A method without vectors needs no vector. The
// result has more than TopK hits if they are to be reranked or sorted.
func (ix *Index) retrieve(m method, q Query, vector vectorLeg) Result {
	n := q.TopK
	depth := max(q.CandidateK, q.TopK) // of each leg
	if m.reranks {
		n = max(q.TopK, q.RerankTopN)
	}
	if q.Sort == SortRelevanceThenRecency { // the newest is chosen among all equal hits
		n = max(n, q.CandidateK)
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	from := ix.meeting(q)
	worded, terms, leftOut, nearest := ix.lookFor(q, from)
	for {
		legs := ix.legs(m, q, terms, vector, worded, from, depth)
		ranked := legs[len(legs)-1].candidates
		groups := ix.groups(ranked, n, q)
		// If duplicates leave places unfilled, deeper legs may fill them.
		if len(groups) >= q.TopK && len(groups) == min(n, len(ranked)) || exhausted(legs, depth) {
			res := ix.result(m.mode, q, terms, legs, groups)
			res.setNearest(nearest)
			if m.words && m.vectors {
				res.Fusion = &vector.FusionRun
			}
			if q.Explain {
				res.Explanation = ix.explain(terms, leftOut, legs, q.CandidateK)
			}
			return res
		}
		depth *= 4
	}
}

// legs returns the rankings of a method, each of at most depth chunks. The last one is the ranking
// of the result. The words choose from worded, the vectors from from. Called with mu held.
func (ix *Index) legs(
	m method, q Query, terms []queryTerm, vector vectorLeg, worded, from source, depth int,
) []leg {
	var legs []leg
	if m.words {
		l := leg{name: componentBM25}
		l.candidates, l.parts = ix.lexical(q, terms, worded, depth)
		legs = append(legs, l)
	}
	if m.vectors {
		legs = append(legs, leg{name: componentVector, candidates: ix.nearestIn(from, vector.unit, depth)})
	}
	if m.words && m.vectors {
		share := q.Sort == SortRelevanceThenRecency
		legs = append(legs, ix.fuse(vector, legs[0].candidates, legs[1].candidates, share))
	}
	return legs
}

// result converts groups to hits. Called with mu held.
func (ix *Index) result(mode Mode, q Query, terms []queryTerm, legs []leg, groups []group) Result {
	res := Result{Hits: make([]Hit, len(groups)), Mode: mode}
	wanted := ix.termSet(terms)
	components := make(map[uint32]map[string]float64, len(groups))
	for i, g := range groups {
		h := ix.hit(g.candidate, wanted)
		h.Highlights = mergeSpans(h.Highlights, phraseSpans(q.Conditions, h.Text))
		h.MoreDuplicates = max(0, len(g.duplicates)-maxDuplicates)
		for _, d := range g.duplicates[:len(g.duplicates)-h.MoreDuplicates] {
			other := Duplicate{ChunkID: ix.chunkID(d.chunk), Path: ix.chunks[d.chunk].doc.Path}
			h.Duplicates = append(h.Duplicates, other)
		}
		h.Components = map[string]float64{}
		components[g.chunk] = h.Components
		res.Hits[i] = h
	}
	for _, l := range legs {
		for i, c := range l.candidates {
			if into := components[c.chunk]; into != nil {
				l.components(i, into)
			}
		}
	}
	return res
}

func (ix *Index) hit(c candidate, wanted *termSet) Hit {
	chunk := &ix.chunks[c.chunk]
	return Hit{
		ChunkID:     ix.chunkID(c.chunk),
		Path:        chunk.doc.Path,
		Title:       chunk.doc.Title,
		HeadingPath: chunk.headings,
		Text:        chunk.text,
		Score:       c.score,
		Date:        chunk.doc.Date,
		Tags:        chunk.doc.Tags,
		Metadata:    chunk.doc.Metadata,
		Highlights:  ix.highlights(chunk, wanted),
	}
}
