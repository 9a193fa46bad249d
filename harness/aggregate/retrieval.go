package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// pooledCounts are the documents retrieved for several questions at one depth, and the gold among
// them.
type pooledCounts struct {
	found, documents int64
}

// size is the amount of text returned for several questions.
type size struct{ questions, words, tokens int64 }

func (s *size) add(one *result.TextSize) {
	if one != nil {
		s.questions++
		s.words += int64(one.Words)
		s.tokens += int64(one.Tokens)
	}
}

// accumulator adds up the rankings of a set of questions.
type accumulator struct {
	n     int
	of    []moments // of each measure
	gold  int64
	pools []pooledCounts // for each of ks
}

// retrievalSum adds up the retrieval of records by documents or by evidence.
type retrievalSum struct {
	evidence bool
	returned size
	ks       []int
	measures []measure
	primary  [primaries]int // indices of measures, -1 for one that it does not have
	units    unitSum
	known    *result.Retrieval // whose intervals were computed last, nil for none
	knownFor intervalKey
	noGold   int
	cut      int
	errors   int
	chunks   histogram // over the questions with a ranking, and so is documents
	docs     histogram
	all      *accumulator
	tags     map[string]*accumulator
}

func newRetrievalSum(topK int, evidence bool) *retrievalSum {
	m := &retrievalSum{evidence: evidence, ks: depths(topK), tags: map[string]*accumulator{}, chunks: histogram{}, docs: histogram{}}
	if m.measures = measuresAt(m.ks); evidence {
		m.measures = measuresOfEvidence(m.ks)
	}
	for i, name := range (&result.Retrieval{Ks: m.ks}).PrimaryMetrics() {
		m.primary[i] = slices.IndexFunc(m.measures, func(s measure) bool { return s.name == name })
	}
	m.all = m.newAccumulator()
	return m
}

func (m *retrievalSum) newAccumulator() *accumulator {
	return &accumulator{of: make([]moments, len(m.measures)), pools: make([]pooledCounts, len(m.ks))}
}

func (m *retrievalSum) add(r result.Record) {
	if r.Outcome == result.NotMeasurable {
		return
	}
	if m.evidence && len(r.ExpectedEvidence) > 0 && r.Evidence == nil && r.CutPassages(m.ks[len(m.ks)-1]) {
		m.cut++
		return
	}
	gold, documents, listed := m.goldOf(&r)
	if len(gold) == 0 {
		m.noGold++
		return
	}
	one := m.newAccumulator()
	if !listed {
		m.errors++
	} else {
		m.chunks[len(r.Retrieved)]++
		m.docs[documents]++
		m.returned.add(r.Returned)
	}
	one.n, one.gold = 1, int64(len(gold))
	for i, k := range m.ks {
		one.pools[i].documents = int64(min(k, documents))
		for _, g := range gold {
			if g.Rank > 0 && g.Rank <= k {
				one.pools[i].found++
			}
		}
	}
	for i, measure := range m.measures {
		one.of[i].add(measure.of(gold))
	}
	m.all.plus(one)
	m.units.add(r, m.unitOf(one).sums)
	for _, tag := range r.Tags {
		if m.tags[tag] == nil {
			m.tags[tag] = m.newAccumulator()
		}
		m.tags[tag].plus(one)
	}
}

// goldOf returns the gold of a record with its ranks among documents, or among chunks for evidence.
// listed is false if the answer had no list of chunks.
func (m *retrievalSum) goldOf(r *result.Record) (gold scorer.Ranking, documents int, listed bool) {
	switch {
	case m.evidence && len(r.ExpectedEvidence) == 0, !m.evidence && len(r.ExpectedPaths) == 0:
		return nil, 0, false
	case !m.evidence && r.Retrieval != nil:
		return r.Retrieval.Gold, r.Retrieval.Documents, true
	case !m.evidence:
		return result.Gold(r.ExpectedPaths, r.ExpectedGrades), 0, false
	case r.Evidence != nil:
		return r.Evidence.Ranking(), min(m.ks[len(m.ks)-1], len(r.Retrieved)), true
	}
	return scorer.EvidenceRanking(make([]int, len(r.ExpectedEvidence))), 0, false
}

func (f *accumulator) plus(other *accumulator) {
	f.n += other.n
	f.gold += other.gold
	for i, s := range other.of {
		f.of[i].values += s.values
		f.of[i].squares += s.squares
	}
	for i, p := range other.pools {
		f.pools[i].found += p.found
		f.pools[i].documents += p.documents
	}
}

// macro returns the means over the questions in f.
func (m *retrievalSum) macro(f *accumulator) result.Metrics {
	out := result.Metrics{}
	for i, measure := range m.measures {
		out[measure.name] = f.of[i].mean(f.n)
	}
	return out
}

// micro returns the pooled metrics of the questions in f.
func (m *retrievalSum) micro(f *accumulator) result.Metrics {
	out := result.Metrics{}
	for i, k := range m.ks {
		found, documents := float64(f.pools[i].found), float64(max(1, f.pools[i].documents))
		out[fmt.Sprintf("recall@%d", k)] = found / float64(f.gold)
		if m.evidence {
			continue // one chunk may have several pieces
		}
		out[fmt.Sprintf("precision@%d", k)] = found / documents
	}
	return out
}

// figures returns the retrieval figures for res, nil if no question had gold.
func (m *retrievalSum) figures(res *result.Result) *result.Retrieval {
	if m.all.n == 0 || res.Mapped.Unretrieved() {
		return nil
	}
	r := &result.Retrieval{
		Ks: m.ks, Questions: m.all.n, NoGold: m.noGold, Cut: m.cut, Errors: m.errors,
		Macro: m.macro(m.all), Intervals: map[string]result.Interval{}, Micro: m.micro(m.all),
		ByTag: map[string]*result.TagMeans{}, Warnings: m.warnings(),
	}
	if len(m.chunks) > 0 {
		r.Depth = &result.Depth{Chunks: m.chunks.spread(), Documents: m.docs.spread()}
		r.Returned = m.sizes()
	}
	m.intervals(r, res)
	for tag, f := range m.tags {
		r.ByTag[tag] = &result.TagMeans{N: f.n, Macro: m.macro(f), Micro: m.micro(f)}
	}
	if res.Mapped.Unranked() {
		omitRanks(r)
	}
	return r
}

// sizes returns the amount of text returned, nil if no record has it.
func (m *retrievalSum) sizes() *result.ReturnedSize {
	n := float64(m.returned.questions)
	if n == 0 {
		return nil
	}
	r := &result.ReturnedSize{Words: float64(m.returned.words) / n, Tokens: float64(m.returned.tokens) / n}
	if m.returned.tokens > 0 {
		recall := float64(m.all.of[m.primary[0]].values) / 1e9
		r.RecallPer1000Tokens = new(1000 * recall / float64(m.returned.tokens))
	}
	return r
}

// evidenceWarnings returns the warnings about evidence that the ones about documents do not cover.
func (m *retrievalSum) evidenceWarnings() []result.Warning {
	if m.returned.questions == 0 || m.returned.words > 0 || m.chunks.spread().Max == 0 {
		return []result.Warning{}
	}
	return []result.Warning{{
		Kind: noTexts, Count: int(m.returned.questions), IDs: []string{},
		Message: "no passage that came back has a text, so that no evidence can be found: " +
			"a memory that returns only ids is measured by documents, without expected_evidence",
	}}
}

// warnings returns the warnings that depend on the answers.
func (m *retrievalSum) warnings() []result.Warning {
	if m.evidence {
		return m.evidenceWarnings()
	}
	answered := m.all.n - m.errors
	deepest := m.all.pools[len(m.all.pools)-1]
	switch {
	case answered > 0 && deepest.documents == 0:
		return []result.Warning{{
			Kind: nothingRetrieved, Count: answered, IDs: []string{},
			Message: "no answer reports what was retrieved, so that every metric is 0: " +
				"seed the brain, or use --scenario search-retrieve-only if the daemon's ask " +
				"sends no chunks in its retrieve event",
		}}
	case answered > 0 && deepest.found == 0:
		return []result.Warning{{
			Kind: goldNeverFound, Count: answered, IDs: []string{},
			Message: "no gold document was retrieved for any question: compare expected_paths " +
				"with the paths under retrieved in the result file; without a corpus they must be " +
				"the daemon's own",
		}}
	}
	return []result.Warning{}
}

// omitRanks removes the measures that depend on the order of the results: it keeps only measures of
// sets at top-k.
func omitRanks(r *result.Retrieval) {
	topK := r.Ks[len(r.Ks)-1]
	ranked := func(name string, _ float64) bool {
		measure, depth, _ := strings.Cut(name, "@")
		return measure == "ndcg" || depth != strconv.Itoa(topK)
	}
	maps.DeleteFunc(r.Macro, ranked)
	maps.DeleteFunc(r.Micro, ranked)
	maps.DeleteFunc(r.Intervals, func(name string, _ result.Interval) bool { return ranked(name, 0) })
	for _, t := range r.ByTag {
		maps.DeleteFunc(t.Macro, ranked)
		maps.DeleteFunc(t.Micro, ranked)
	}
}

// The kinds of the warnings caused only by the answers: no document was retrieved at all, no gold
// document, or no text.
const (
	nothingRetrieved = "nothing_retrieved"
	goldNeverFound   = "gold_never_found"
	noTexts          = "no_texts"
)

// DatasetWarnings returns the warnings caused by the dataset and the corpus, not by the answers.
func DatasetWarnings(r *result.Retrieval) []result.Warning {
	out := []result.Warning{}
	if r != nil {
		for _, w := range r.Warnings {
			if w.Kind != nothingRetrieved && w.Kind != goldNeverFound && w.Kind != noTexts {
				out = append(out, w)
			}
		}
	}
	return out
}
