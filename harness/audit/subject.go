package audit

import (
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// Open reads a result file.
func Open(path string) (*Subject, error) {
	res, records, err := resultfile.ReadAll(path)
	if err != nil {
		return nil, err
	}
	s := &Subject{Path: path, Name: res.SDK, Result: res, Records: records}
	s.findClusters()
	return s, nil
}

// findClusters sets the cluster of each record as the pass rate of the result has them: by its
// cluster tag, or else the repeats of a question. A record without the tag forms its own.
func (s *Subject) findClusters() {
	tag := s.Result.Settings.ClusterTag
	tagged := tag != "" && tag != result.NoClusters
	if !tagged && s.Result.Identity.Dataset.Repeats <= 1 {
		return
	}
	numbers := map[string]int{}
	for _, r := range s.Records {
		cluster, ok := "", false
		if tagged {
			cluster, ok = result.ClusterOf(tag, r.Tags, r.Shared())
		}
		if !ok {
			cluster = "\x00" + r.ID
		}
		n, seen := numbers[cluster]
		if !seen {
			n = len(numbers)
			numbers[cluster] = n
		}
		s.clusters = append(s.clusters, n)
	}
}

// cluster returns the cluster of a record, or independent.
func (s *Subject) cluster(record int) int {
	if s.clusters == nil {
		return independent
	}
	return s.clusters[record]
}

// split returns the shares of passed records, among the records that count: one for the group given
// by in, and one for the others.
func (s *Subject) split(counts, in func(result.Record) bool) (group, others share) {
	for i, r := range s.Records {
		switch {
		case !counts(r):
		case in(r):
			group.add(r.Passed, s.cluster(i))
		default:
			others.add(r.Passed, s.cluster(i))
		}
	}
	return group, others
}

// passed returns the share of passed records among those that count.
func (s *Subject) passed(counts func(result.Record) bool) share {
	all, _ := s.split(counts, func(result.Record) bool { return true })
	return all
}

// scored reports whether a record has a verdict.
func scored(r result.Record) bool { return r.Outcome == result.Scored }
