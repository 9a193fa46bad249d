package replay

import (
	"fmt"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Trivial returns warnings about questions of an arm that can be passed with little or no
// retrieval: top-k covers the haystack, all of the haystack is gold, or the gold answer occurs in
// the haystack.
func (p *Plan) Trivial(a Arm) ([]result.Warning, error) {
	keys, err := p.keyWarning()
	if err != nil {
		return nil, err
	}
	infos := p.infos()
	covered := result.Warning{IDs: []string{}}
	gold := result.Warning{Kind: result.AllGold, IDs: []string{}}
	for i := range p.Questions {
		q := &p.Questions[i]
		size := p.documents(infos[q.Haystack])
		if a.hasDaemon() && size > 0 && p.TopK >= size {
			covered.AddID(q.ID)
		}
		if size > 0 && len(q.Gold) >= size {
			gold.AddID(q.ID)
		}
	}
	n := figure.Count(len(p.Questions), "question")
	covered = result.CoversHaystacks(covered, p.TopK, n)
	gold.Message = fmt.Sprintf("every document of the haystack is gold for %d of %s: whatever is found is right; "+
		"use a file with other sessions as well", gold.Count, n)
	var out []result.Warning
	for _, w := range []result.Warning{covered, gold, keys} {
		if w.Count > 0 {
			out = append(out, w)
		}
	}
	return out, nil
}

// documents returns how many documents are searched for a question about the haystack.
func (p *Plan) documents(h source.HaystackInfo) int {
	if !p.Shared {
		return h.Sessions
	}
	sessions, _ := p.haystackSize()
	return sessions
}

// longKey is the number of words from which a gold answer is unlikely to occur in a text by chance.
// The audit of results uses the same number.
const longKey = 5

// keyInMemory counts the questions whose gold answer occurs verbatim in their haystack, which it
// reads. Questions whose answer must decline are skipped.
func (p *Plan) keyInMemory() (result.Warning, error) {
	w := result.Warning{Kind: result.KeyInMemory, IDs: []string{}}
	about := map[string][]*source.Question{}
	for i := range p.Questions {
		q := &p.Questions[i]
		about[q.Haystack] = append(about[q.Haystack], q)
	}
	stands, long, beside := map[string]bool{}, 0, 0
	for _, info := range p.Haystacks {
		h, err := p.Benchmark.Haystack(info.ID)
		if err != nil {
			return w, err
		}
		var documents []scorer.Words
		for _, d := range h.Documents() {
			documents = append(documents, scorer.WordsOf(string(d.Data)))
		}
		for _, q := range about[info.ID] {
			key, question, with := scorer.WordsOf(q.Answer), scorer.WordsOf(q.Text), false
			if q.Abstention {
				continue
			}
			for _, d := range documents {
				if d.Quote(key) {
					stands[q.ID] = true
					with = with || d.Quote(question)
				}
			}
			if stands[q.ID] && key.Len() >= longKey {
				long++
			}
			if with {
				beside++
			}
		}
	}
	for i := range p.Questions {
		if stands[p.Questions[i].ID] {
			w.AddID(p.Questions[i].ID)
		}
	}
	w.Message = fmt.Sprintf("%d of %d gold answers stand word for word in their haystack, %d of them longer than four words, "+
		"%d beside their question", w.Count, len(p.Questions), long, beside)
	return w, nil
}
