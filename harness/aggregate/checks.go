package aggregate

import (
	"iter"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// checkSum adds up the questions with checks of one label. Each question counts once, however many
// such checks it has, so that the outcomes are as independent as the run's.
type checkSum struct {
	figures result.TagFigures
	// clusters has the outcomes by tags that may name a cluster, and repeats by question if
	// questions are asked several times.
	clusters, repeats map[string]*attempts
}

// addChecks counts a record for each label of its checks.
func (s *Sum) addChecks(r result.Record) {
	for label, of := range byCheck(&r) {
		sum := s.checks[label]
		if sum == nil {
			sum = &checkSum{clusters: map[string]*attempts{}, repeats: map[string]*attempts{}}
			s.checks[label] = sum
		}
		sum.figures.Add(of)
		if !of.Outcome.Counts() {
			continue
		}
		for _, tag := range clusterTags(r) {
			count(sum.clusters, tag, of.Passed)
		}
		if r.Repeat > 0 {
			count(sum.repeats, r.ID, of.Passed)
		}
	}
}

func count(by map[string]*attempts, key string, passed bool) {
	if by[key] == nil {
		by[key] = &attempts{}
	}
	by[key].add(passed)
}

// checkFigures returns the figures by check, nil for another scorer.
func (s *Sum) checkFigures(res *result.Result) map[string]*result.TagFigures {
	if res.ScorerName != (scorer.Checks{}).Name() || len(s.checks) == 0 {
		return nil
	}
	out := map[string]*result.TagFigures{}
	for label, sum := range s.checks {
		f := sum.figures
		f.PassRate, f.Interval = f.Counts.PassRate(), sum.interval(res)
		out[label] = &f
	}
	return out
}

// interval returns the interval of the rate, like Sum.tagInterval.
func (c *checkSum) interval(res *result.Result) *result.Interval {
	cluster := clusterTag(res)
	by := inClusters(c.clusters, cluster)
	if cluster == "" {
		for id, n := range c.repeats {
			by[id] = *n
		}
	}
	if independent := cluster == "" && len(c.repeats) == 0; independent || c.figures.Total < 2 {
		return PassInterval(c.figures.Counts)
	}
	m, _ := meanOf(by)
	return clusterInterval(m)
}

// byCheck yields the labels of the question's checks, in order and without repetitions. Each comes
// with the record as judged by the checks with this label: it passed if all of them hold, and is
// unscored if none fails and one has no verdict.
func byCheck(r *result.Record) iter.Seq2[string, result.Record] {
	return func(yield func(string, result.Record) bool) {
		var labels []string
		failed, open := map[string]bool{}, map[string]bool{} // known labels are in failed
		for _, c := range r.Checks {
			label := c.Label()
			if _, known := failed[label]; !known {
				labels = append(labels, label)
			}
			failed[label] = failed[label] || c.Holds != nil && !*c.Holds
			open[label] = open[label] || c.Holds == nil
		}
		graded := r.Outcome != result.Errored && r.Outcome.Counts()
		for _, label := range labels {
			of := *r
			if graded {
				of.Outcome, of.Passed = result.Scored, !failed[label]
			}
			if graded && open[label] && !failed[label] {
				of.Outcome, of.Passed = result.Unscored, false
			}
			if !yield(label, of) {
				return
			}
		}
	}
}
