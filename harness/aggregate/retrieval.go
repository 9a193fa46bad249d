package aggregate

import (
	"fmt"
	"slices"

	"evalctl/harness/result"
)

// pooledCounts are the numbers of documents that were retrieved for several questions at one depth,
// and of the gold among them.
type pooledCounts struct {
	found, documents int64
}

// accumulator adds up the rankings of a set of questions.
type accumulator struct {
	n     int
	of    []moments // of each measure
	gold  int64
	pools []pooledCounts // for each of ks
}

// retrievalSum adds up the retrieval of records, one at a time.
type retrievalSum struct {
	ks       []int
	measures []measure
	primary  [primaries]int // indices of measures
	units    unitSum
	known    *result.Retrieval // whose intervals were computed last, nil for none
	knownFor intervalKey
	noGold   int
	errors   int
	chunks   histogram // over the questions with a ranking, and so is documents
	docs     histogram
	all      *accumulator
	tags     map[string]*accumulator
}

func newRetrievalSum(topK int) *retrievalSum {
	m := &retrievalSum{ks: depths(topK), tags: map[string]*accumulator{}, chunks: histogram{}, docs: histogram{}}
	m.measures = measuresAt(m.ks)
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
	if len(r.ExpectedPaths) == 0 {
		m.noGold++
		return
	}
	one := m.newAccumulator()
	gold, documents := result.Gold(r.ExpectedPaths), 0
	if r.Retrieval == nil {
		m.errors++
	} else {
		gold, documents = r.Retrieval.Gold, r.Retrieval.Documents
		m.chunks[len(r.Retrieved)]++
		m.docs[documents]++
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

// macro returns the means over the questions of f.
func (m *retrievalSum) macro(f *accumulator) result.Metrics {
	out := result.Metrics{}
	for i, measure := range m.measures {
		out[measure.name] = f.of[i].mean(f.n)
	}
	return out
}

// micro returns the pooled metrics of the questions of f.
func (m *retrievalSum) micro(f *accumulator) result.Metrics {
	out := result.Metrics{}
	for i, k := range m.ks {
		found, documents := float64(f.pools[i].found), float64(max(1, f.pools[i].documents))
		out[fmt.Sprintf("recall@%d", k)] = found / float64(f.gold)
		out[fmt.Sprintf("precision@%d", k)] = found / documents
	}
	return out
}

// figures returns the figures of a run with the settings and the identity of res, nil if no
// question had gold.
func (m *retrievalSum) figures(res *result.Result) *result.Retrieval {
	if m.all.n == 0 || res.Mapped.Unretrieved() {
		return nil
	}
	r := &result.Retrieval{
		Ks: m.ks, Questions: m.all.n, NoGold: m.noGold, Errors: m.errors,
		Macro: m.macro(m.all), Intervals: map[string]result.Interval{}, Micro: m.micro(m.all),
		ByTag: map[string]*result.TagMeans{}, Warnings: m.warnings(),
	}
	if len(m.chunks) > 0 {
		r.Depth = &result.Depth{Chunks: m.chunks.spread(), Documents: m.docs.spread()}
	}
	m.intervals(r, res)
	for tag, f := range m.tags {
		r.ByTag[tag] = &result.TagMeans{N: f.n, Macro: m.macro(f), Micro: m.micro(f)}
	}
	if res.Mapped.Unranked() {
		r.OmitRanks()
	}
	return r
}

// warnings returns the warnings that only the answers cause.
func (m *retrievalSum) warnings() []result.Warning {
	answered := m.all.n - m.errors
	deepest := m.all.pools[len(m.all.pools)-1]
	switch {
	case answered > 0 && deepest.documents == 0:
		return []result.Warning{{
			Kind: result.NothingRetrieved, Count: answered, IDs: []string{},
			Message: "no answer reports what was retrieved, so that every metric is 0: " +
				"seed the brain, or use --scenario search-retrieve-only if the daemon's ask " +
				"sends no chunks in its retrieve event",
		}}
	case answered > 0 && deepest.found == 0:
		return []result.Warning{{
			Kind: result.GoldNeverFound, Count: answered, IDs: []string{},
			Message: "no gold document was retrieved for any question: compare expected_paths " +
				"with the paths under retrieved in the result file; without a corpus they must be " +
				"the daemon's own",
		}}
	}
	return []result.Warning{}
}
