package audit

import (
	"fmt"
	"math"
	"slices"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// confidence is the confidence of all intervals.
const confidence = 0.95

// independent is the cluster of an item that is in none.
const independent = -1

// share is a number of hits among n items.
type share struct {
	hits, n int
	// values has 1 for a hit and else 0, clusters the cluster of each item. Both are nil if only
	// the numbers are known.
	values   []float64
	clusters []int
}

func (s *share) add(hit bool, cluster int) {
	s.n++
	value := 0.0
	if hit {
		s.hits++
		value = 1
	}
	s.values, s.clusters = append(s.values, value), append(s.clusters, cluster)
}

// plus returns the pooled share.
func (s share) plus(o share) share {
	return share{s.hits + o.hits, s.n + o.n, slices.Concat(s.values, o.values), slices.Concat(s.clusters, o.clusters)}
}

func (s share) rate() float64 { return float64(s.hits) / float64(s.n) }

// clustered reports whether the items are in clusters.
func (s share) clustered() bool { return len(s.clusters) > 0 && s.clusters[0] != independent }

// interval returns the interval of the rate as a result has it, nil if clusters determine none.
func (s share) interval() *result.Interval {
	if s.clustered() {
		if c := aggregate.Clustered("", s.values, s.clusters); c != nil {
			return c.Interval
		}
	}
	return aggregate.PassInterval(result.Counts{Total: s.n, Passed: s.hits})
}

// String formats a share like "23/28 0.821 [0.644 0.921]".
func (s share) String() string {
	if s.n == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d/%d %.3f", s.hits, s.n, s.rate())
	if i := s.interval(); i != nil {
		return text + fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
	}
	return text + " [no interval]"
}

// less returns the difference of two shares of different items with its interval. It is unknown if
// either share has no items.
func (s share) less(o share) (d difference, ok bool) {
	if s.n == 0 || o.n == 0 {
		return d, false
	}
	alone := func(part float64) difference {
		s, o := s.part(part), o.part(part)
		lo, hi := stats.NewcombeUnpaired(s.hits, s.n, o.hits, o.n, confidence)
		return difference{s.rate() - o.rate(), lo, hi}
	}
	return alone(1).widened(alone, stratum{s, o}), true
}

// part returns as large a part of the items, at least one, with the same share of hits, but
// without the items themselves.
func (s share) part(part float64) share {
	n := max(1, scaled(s.n, part))
	return share{hits: min(n, scaled(s.hits, part)), n: n}
}

// scaled returns a part of n items.
func scaled(n int, part float64) int { return int(math.Round(float64(n) * part)) }

// stratum has two groups of items that are alike otherwise.
type stratum struct{ long, short share }

// weight is the weight of Mantel and Haenszel, 0 if a group has no items.
func (s stratum) weight() float64 {
	if s.long.n == 0 || s.short.n == 0 {
		return 0
	}
	n1, n0 := float64(s.long.n), float64(s.short.n)
	return n1 * n0 / (n1 + n0)
}

// difference is the difference of two shares with its 95% interval.
type difference struct{ value, low, high float64 }

// widened returns d, the weighted difference of strata, with an interval that also allows for
// clusters. Each item counts as much as it moves the difference. alone is as in over.
func (d difference) widened(alone func(part float64) difference, strata ...stratum) difference {
	weight, n := 0.0, 0
	for _, s := range strata {
		if s.weight() > 0 {
			weight += s.weight()
			n += s.long.n + s.short.n
		}
	}
	var values []float64
	var clusters []int
	for _, s := range strata {
		if s.weight() == 0 {
			continue
		}
		for i, group := range []share{s.long, s.short} {
			sign := float64(1 - 2*i)
			for _, v := range group.values {
				moves := s.weight() / weight / float64(group.n) * (v - group.rate())
				values = append(values, d.value+sign*float64(n)*moves)
			}
			clusters = append(clusters, group.clusters...)
		}
	}
	return d.over(values, clusters, alone)
}

// fewestClusters is the number of clusters from which a difference of all of them can be shown: the
// sign test of fewer has a p of more than 0.05.
const fewestClusters = 6

// over returns d, the mean of values, with an interval that includes the clustered one. Equal
// values leave that without a width, however few they are: the interval is then the one that
// alone, which takes a part of the items as independent, gives to as many items as there are
// clusters. If clusters determine none, or are too few to show one, it has every difference.
func (d difference) over(values []float64, clusters []int, alone func(part float64) difference) difference {
	if len(clusters) == 0 || clusters[0] == independent {
		return d
	}
	m := stats.Clustered(values, clusters, confidence)
	low, high := m.Lo, m.Hi
	if m.Clusters >= fewestClusters && slices.Min(values) == slices.Max(values) {
		few := alone(float64(m.Clusters) / float64(len(values)))
		low, high = few.low, few.high
	}
	if math.IsNaN(low) {
		return difference{d.value, -1, 1}
	}
	return difference{d.value, max(-1, min(d.low, low)), min(1, max(d.high, high))}
}

// shown reports whether the interval excludes 0.
func (d difference) shown() bool { return d.low > 0 || d.high < 0 }

// String formats a difference in percentage points.
func (d difference) String() string {
	return fmt.Sprintf("%s pp [%s %s]", figure.Points(d.value), figure.Points(d.low), figure.Points(d.high))
}
