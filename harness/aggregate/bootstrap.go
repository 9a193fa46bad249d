package aggregate

import (
	"cmp"
	"maps"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// The bootstrap of retrieval measures draws at most mostDraws questions or clusters per measure, in
// leastResamples to mostResamples resamples. Outside fewestUnits to mostUnits, the t interval is
// used: with fewer units the bootstrap is too narrow, and with more it is slow and agrees with the
// t interval.
const (
	fewestUnits    = 5
	mostUnits      = 10_000
	mostDraws      = 10_000_000
	leastResamples = 1_000
	mostResamples  = 10_000
	bootstrapSeed  = 1
)

// primaries is the number of primary metrics.
const primaries = 5

// unit is a question or a cluster of questions, drawn as a whole by the bootstrap. It has the
// number of questions and the sums of their primary metrics in units of 1e-9, so that the order of
// adding does not matter.
type unit struct {
	size int64
	sums [primaries]int64
}

func (u *unit) add(values [primaries]int64) {
	u.size++
	for i, v := range values {
		u.sums[i] += v
	}
}

// unitSum keeps the units that cannot be derived from the figures by tag: 48 bytes for each brain,
// each repeated question, and each other question up to mostUnits.
type unitSum struct {
	brains, repeated map[string]*unit
	single           []unit // of questions that are asked once
	singles          int    // len(single), unless there are more than mostUnits
}

func (s *unitSum) add(r result.Record, values [primaries]int64) {
	in := func(units *map[string]*unit, name string) {
		if *units == nil {
			*units = map[string]*unit{}
		}
		if (*units)[name] == nil {
			(*units)[name] = &unit{}
		}
		(*units)[name].add(values)
	}
	if brain := r.Shared(); brain != "" {
		in(&s.brains, brain)
	}
	if r.Repeat > 0 {
		in(&s.repeated, r.ID)
		return
	}
	if s.singles++; s.singles > mostUnits {
		s.single = nil
		return
	}
	s.single = append(s.single, unit{1, values})
}

// unitsOf returns the units of the questions with gold. cluster is the name of the clusters, empty
// for single questions. units is nil if there are too many questions to keep. ok is false if a
// question is in no cluster or in several.
func (m *retrievalSum) unitsOf(res *result.Result) (cluster string, units []unit, ok bool) {
	clusters := map[string]*unit{}
	switch tag := res.Settings.ClusterTag; {
	case len(m.units.brains) > 1 && (tag == "" || tag == result.ByBrain):
		cluster, clusters = result.ByBrain, m.units.brains
	case clusterTag(res) != "":
		cluster = tag
		for name, f := range m.tags {
			if inCluster(name, tag) {
				clusters[name] = m.unitOf(f)
			}
		}
	case len(m.units.repeated) > 0:
		cluster, clusters = "question", m.units.repeated
	case m.units.singles == m.all.n:
		return "", m.units.single, true
	}
	size := int64(0)
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		units = append(units, *clusters[name])
		size += clusters[name].size
	}
	if size == int64(len(units)) { // one question each
		cluster = ""
	}
	return cluster, units, size == int64(m.all.n)
}

// unitOf returns the questions of f as a cluster.
func (m *retrievalSum) unitOf(f *accumulator) *unit {
	u := &unit{size: int64(f.n)}
	for i, at := range m.primary {
		if at >= 0 {
			u.sums[i] = f.of[at].values
		}
	}
	return u
}

// intervalKey has everything that the intervals of a sum depend on.
type intervalKey struct {
	cluster   string
	questions int
}

// intervals sets the intervals of the primary metrics. It caches them for unchanged records.
func (m *retrievalSum) intervals(r *result.Retrieval, res *result.Result) {
	key := intervalKey{res.Settings.ClusterTag, m.all.n}
	if m.known == nil || m.knownFor != key {
		known := &result.Retrieval{Ks: r.Ks, Intervals: map[string]result.Interval{}}
		m.computeIntervals(known, res)
		m.known, m.knownFor = known, key
	}
	r.Intervals = maps.Clone(m.known.Intervals)
	if m.known.Basis != nil {
		basis := *m.known.Basis
		r.Basis = &basis
	}
}

func (m *retrievalSum) computeIntervals(r *result.Retrieval, res *result.Result) {
	cluster, units, ok := m.unitsOf(res)
	if !ok {
		return
	}
	b := &result.IntervalBasis{Cluster: cluster, Units: len(units)}
	if units == nil {
		b.Units = m.all.n
	}
	if b.Units >= fewestUnits && b.Units <= mostUnits {
		b.Resamples = min(mostResamples, max(leastResamples, mostDraws/b.Units))
		b.Seed = bootstrapSeed
	}
	for i, name := range r.PrimaryMetrics() {
		if m.primary[i] < 0 {
			continue
		}
		all := m.all.of[m.primary[i]]
		interval, ok := all.interval(m.all.n) // of independent questions
		if ok && units != nil {
			interval, ok = unitInterval(units, i, b)
		}
		if ok {
			r.Intervals[name] = interval
		}
	}
	if len(r.Intervals) > 0 {
		r.Basis = b
	}
}

// unitInterval returns the interval of primary metric i over units by the method in b; ok is false
// if all units are equal.
func unitInterval(units []unit, i int, b *result.IntervalBasis) (_ result.Interval, ok bool) {
	// Sorted so that the resamples do not depend on the order of the records.
	slices.SortFunc(units, func(x, y unit) int {
		return cmp.Or(cmp.Compare(x.sums[i], y.sums[i]), cmp.Compare(x.size, y.size))
	})
	sums, sizes := make([]float64, len(units)), make([]float64, len(units))
	total, n := int64(0), int64(0)
	for k, u := range units {
		sums[k], sizes[k] = float64(u.sums[i])/1e9, float64(u.size)
		total, n = total+u.sums[i], n+u.size
	}
	mean := float64(total) / 1e9 / float64(n)
	squares := 0.0
	for k := range units {
		d := sums[k] - sizes[k]*mean
		squares += d * d
	}
	// The squared standard error, corrected for few clusters. The limit allows for rounding errors.
	c := float64(len(units))
	variance := squares / float64(n) / float64(n) * c / (c - 1)
	if len(units) < 2 || variance*float64(n) < 1e-7 {
		return result.Interval{}, false
	}
	out := result.Interval{Confidence: confidence}
	switch {
	case b.Resamples == 0 && b.Cluster == "":
		out.Method = result.MethodT
		out.Low, out.High = stats.MeanCI(len(units), mean, variance*c, confidence)
	case b.Resamples == 0:
		out.Method = result.MethodClustered
		out.Low, out.High = stats.MeanCI(len(units), mean, variance*c, confidence)
	case b.Cluster == "":
		out.Method = result.MethodBCa
		out.Low, out.High = stats.BCa(sums, b.Resamples, b.Seed, confidence)
	default:
		out.Method = result.MethodClusterBootstrap
		out.Low, out.High = stats.ClusterBootstrap(sums, sizes, b.Resamples, b.Seed, confidence)
	}
	out.Low, out.High = max(0, out.Low), min(1, out.High)
	return out, true
}
