package stats

// documentClusters are five conversations of ten questions that pass 10, 10, 10, 9 and 6 of them.
func documentClusters() ClusteredMean {
	var values []float64
	var cluster []int
	for c, k := range []int{10, 10, 10, 9, 6} {
		values = append(values, passes(k, 10)...)
		for range 10 {
			cluster = append(cluster, c)
		}
	}
	return Clustered(values, cluster, .95)
}

// documentSplit are the variances of 50 questions asked three times: 41 pass always, 4 never, three
// twice and two once.
func documentSplit() struct{ Question, Run float64 } {
	var scores [][]float64
	for passed, questions := range []int{4, 2, 3, 41} {
		for range questions {
			scores = append(scores, passes(passed, 3))
		}
	}
	question, run := VarianceSplit(scores)
	return struct{ Question, Run float64 }{question, run}
}

func documentQuantile(n int, p float64) struct {
	Lo, Hi int
	Covers float64
} {
	lo, hi, covers := QuantileCI(n, p, .95)
	return struct {
		Lo, Hi int
		Covers float64
	}{lo, hi, covers}
}

// documentChanges are the changes in seven nights of 84 of 100 passes, give or take two, and seven
// of 70.
func documentChanges() []ChangePoint {
	passed := []int{83, 85, 84, 82, 86, 84, 84, 71, 69, 70, 68, 72, 70, 70}
	total := make([]int, len(passed))
	for i := range total {
		total[i] = 100
	}
	return ChangePoints(passed, total, ChangeTest{MinSegment: 3, Alpha: .02, Resamples: 1999, Seed: 1})
}
