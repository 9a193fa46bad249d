package aggregate

import (
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
	for label, of := range r.ByCheck() {
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
