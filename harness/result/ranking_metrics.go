package result

import (
	"fmt"
	"math"
	"slices"

	"evalctl/internal/stats"
	"evalctl/scorer"
)

// Metrics are measures of retrieval by name, such as recall@5 or mrr.
type Metrics map[string]float64

// Retrieval is the quality of the rankings of a run, over the questions with gold. A question
// without an answer counts as 0 in every metric.
type Retrieval struct {
	// Ks are the depths, ascending: those of 1, 3, 5 and 10 that are below top-k, and top-k. What a
	// ranking contains below top-k is not known.
	Ks        []int `json:"ks"`
	Questions int   `json:"questions"`
	// NoGold is the number of questions without gold, which are left out, and Errors the number of
	// those of Questions that got no answer.
	NoGold int `json:"no_gold"`
	Errors int `json:"errors"`
	// Macro has the means over the questions, Intervals the confidence intervals of recall at top-k
	// and of nDCG among the primary metrics. A metric that is the same for all questions has none,
	// because nothing is known of its variance.
	Macro     Metrics             `json:"macro"`
	Intervals map[string]Interval `json:"intervals"`
	// Micro pools the questions: the share of all gold that was retrieved, and the share of all
	// retrieved documents that are gold.
	Micro    Metrics              `json:"micro"`
	ByTag    map[string]*TagMeans `json:"by_tag"`
	Warnings []Warning            `json:"guards"`
}

// TagMeans are the metrics of the N questions with gold that have a tag.
type TagMeans struct {
	N     int     `json:"n"`
	Macro Metrics `json:"macro"`
	Micro Metrics `json:"micro"`
}

// primaryMetrics returns the names of the metrics that summarise a ranking, for runs with this
// top-k. nDCG is at 10, as is usual, or at top-k if that is less.
func primaryMetrics(topK int) []string {
	return []string{
		fmt.Sprintf("recall@%d", topK), fmt.Sprintf("any@%d", topK), fmt.Sprintf("all@%d", topK),
		"mrr", fmt.Sprintf("ndcg@%d", min(topK, 10)),
	}
}

// PrimaryMetrics returns the names of the metrics that summarise r: recall, any and all at top-k,
// mrr, and nDCG at 10, or at top-k if that is less.
func (r *Retrieval) PrimaryMetrics() []string { return primaryMetrics(r.Ks[len(r.Ks)-1]) }

// measure is a metric of one ranking.
type measure struct {
	name string
	of   func(scorer.Ranking) float64
}

// depths returns the depths at which a run with this top-k is measured.
func depths(topK int) []int {
	ks := slices.DeleteFunc([]int{1, 3, 5, 10}, func(k int) bool { return k >= topK })
	return append(ks, topK)
}

func measuresAt(ks []int) []measure {
	var out []measure
	for _, k := range ks {
		for _, m := range []struct {
			name string
			at   func(scorer.Ranking, int) float64
		}{
			{"recall", scorer.Ranking.RecallAt},
			{"any", scorer.Ranking.AnyAt},
			{"all", scorer.Ranking.AllAt},
			{"precision", scorer.Ranking.PrecisionAt},
			{"success", scorer.Ranking.SuccessAt},
			{"ndcg", scorer.Ranking.NDCGAt},
		} {
			of := func(r scorer.Ranking) float64 { return m.at(r, k) }
			out = append(out, measure{fmt.Sprintf("%s@%d", m.name, k), of})
		}
	}
	return append(out,
		measure{"mrr", scorer.Ranking.ReciprocalRank}, measure{"map", scorer.Ranking.AveragePrecision})
}

// moments adds up shares and their squares in units of 1e-9, so that the order of adding does not
// matter.
type moments struct {
	values, squares int64
}

func (s *moments) add(share float64) {
	s.values += int64(math.Round(share * 1e9))
	s.squares += int64(math.Round(share * share * 1e9))
}

func (s moments) mean(n int) float64 { return float64(s.values) / 1e9 / float64(n) }

// interval returns the confidence interval of the mean of n shares; ok is false if all are the
// same.
func (s moments) interval(n int) (i Interval, ok bool) {
	mean := s.mean(n)
	variance := (float64(s.squares)/1e9 - float64(n)*mean*mean) / float64(n-1)
	if n < 2 || variance < 1e-7 { // rounding alone can cause as much
		return i, false
	}
	lo, hi := stats.MeanCI(n, mean, variance, 0.95)
	return Interval{Method: "student_t", Confidence: 0.95, Low: max(0, lo), High: min(1, hi)}, true
}

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

// retrievalAggregate adds up the retrieval of records, one at a time.
type retrievalAggregate struct {
	ks       []int
	measures []measure
	primary  []string
	noGold   int
	errors   int
	all      *accumulator
	tags     map[string]*accumulator
}

func newRetrievalAggregate(topK int) *retrievalAggregate {
	m := &retrievalAggregate{
		ks: depths(topK), primary: primaryMetrics(topK), tags: map[string]*accumulator{},
	}
	m.measures = measuresAt(m.ks)
	m.all = m.newAccumulator()
	return m
}

func (m *retrievalAggregate) newAccumulator() *accumulator {
	return &accumulator{of: make([]moments, len(m.measures)), pools: make([]pooledCounts, len(m.ks))}
}

func (m *retrievalAggregate) add(r Record) {
	if len(r.ExpectedPaths) == 0 {
		m.noGold++
		return
	}
	one := m.newAccumulator()
	gold, documents := Gold(r.ExpectedPaths), 0
	if r.Retrieval == nil {
		m.errors++
	} else {
		gold, documents = r.Retrieval.Gold, r.Retrieval.Documents
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
func (m *retrievalAggregate) macro(f *accumulator) Metrics {
	out := Metrics{}
	for i, measure := range m.measures {
		out[measure.name] = f.of[i].mean(f.n)
	}
	return out
}

// micro returns the pooled metrics of the questions of f.
func (m *retrievalAggregate) micro(f *accumulator) Metrics {
	out := Metrics{}
	for i, k := range m.ks {
		found, documents := float64(f.pools[i].found), float64(max(1, f.pools[i].documents))
		out[fmt.Sprintf("recall@%d", k)] = found / float64(f.gold)
		out[fmt.Sprintf("precision@%d", k)] = found / documents
	}
	return out
}

// result returns nil if no question had gold.
func (m *retrievalAggregate) result() *Retrieval {
	if m.all.n == 0 {
		return nil
	}
	r := &Retrieval{
		Ks: m.ks, Questions: m.all.n, NoGold: m.noGold, Errors: m.errors,
		Macro: m.macro(m.all), Intervals: map[string]Interval{}, Micro: m.micro(m.all),
		ByTag: map[string]*TagMeans{}, Warnings: m.warnings(),
	}
	for i, measure := range m.measures {
		if measure.name != m.primary[0] && measure.name != m.primary[len(m.primary)-1] {
			continue
		}
		if interval, ok := m.all.of[i].interval(m.all.n); ok {
			r.Intervals[measure.name] = interval
		}
	}
	for tag, f := range m.tags {
		r.ByTag[tag] = &TagMeans{N: f.n, Macro: m.macro(f), Micro: m.micro(f)}
	}
	return r
}
