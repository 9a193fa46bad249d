package stats

import "math"

// PassAtK returns the probability that at least one of k attempts passes, estimated from c passes
// in n attempts: 1 - C(n-c,k)/C(n,k) (Chen et al. 2021). It is NaN unless 0 <= c <= n and 1 <= k <=
// n.
func PassAtK(n, c, k int) float64 {
	return 1 - PassHatK(n, n-c, k)
}

// PassHatK returns the probability that k attempts all pass, estimated from c passes in n attempts:
// C(c,k)/C(n,k) (Yao et al. 2024). It is NaN unless 0 <= c <= n and 1 <= k <= n.
func PassHatK(n, c, k int) float64 {
	if c < 0 || c > n || k < 1 || k > n {
		return math.NaN()
	}
	if k > c {
		return 0
	}
	// Π (c-i)/(n-i) for i < k, or the same with n-c and n-k exchanged if that is shorter.
	top, terms := c, k
	if n-c < k {
		top, terms = n-k, n-c
	}
	ratio := 1.0
	for i := range terms {
		ratio *= float64(top-i) / float64(n-i)
	}
	return ratio
}

// VarianceSplit splits the variance of repeated scores into the variance between questions and the
// variance between runs of one question, by one-way analysis of variance. run is the mean square
// within questions. question is the rest of the mean square between them, divided by the number of
// runs of a question, or its replacement if the numbers differ (Searle, Casella and McCulloch 1992,
// chapter 3). A negative question becomes 0. perQuestion has the scores of the runs of each
// question; questions without any do not count. Both are NaN for fewer than two questions and if no
// question has two runs.
func VarianceSplit(perQuestion [][]float64) (question, run float64) {
	var all []float64
	questions, squaredSizes, within, between := 0.0, 0.0, 0.0, 0.0
	for _, scores := range perQuestion {
		all = append(all, scores...)
	}
	n := float64(len(all))
	overall, _ := Moments(all)
	for _, scores := range perQuestion {
		if len(scores) == 0 {
			continue
		}
		questions++
		size := float64(len(scores))
		squaredSizes += size * size
		mean, variance := Moments(scores)
		if len(scores) > 1 {
			within += variance * (size - 1)
		}
		between += size * (mean - overall) * (mean - overall)
	}
	if questions < 2 || n == questions {
		return math.NaN(), math.NaN()
	}
	run = within / (n - questions)
	runs := (n - squaredSizes/n) / (questions - 1)
	return max(0, (between/(questions-1)-run)/runs), run
}
