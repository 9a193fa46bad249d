package aggregate

import (
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// proofConfidence is the confidence of a Proof's one-sided bounds, and settlePower the power behind
// Proof.Questions.
const (
	proofConfidence = 0.95
	settlePower     = 0.8
)

// worseBy is the distance of a Proof's example below the floor.
const worseBy = 0.05

// newProof judges passed of total questions, at least 1. clusters is nil if they are independent.
func newProof(mode result.FloorMode, passed, total int, floor float64, clusters *result.ClusteredRate) *result.Proof {
	worse := math.Round(max(0, floor-worseBy)*1e9) / 1e9 // without the noise of the subtraction
	p := result.Proof{
		Method: result.MethodExact, Confidence: proofConfidence,
		Lower: stats.ExactLower(passed, total, proofConfidence), Upper: stats.ExactUpper(passed, total, proofConfidence),
		WorseRate: worse, WorsePasses: stats.AtLeast(required(mode, total, floor, nil), total, worse),
	}
	needed := stats.RequiredProven(total, floor, proofConfidence)
	if clusters == nil {
		p.Proven, p.Refuted = passed >= needed, passed < stats.RequiredNotRefuted(total, floor, proofConfidence)
		if needed <= total {
			p.Needed = &needed
		}
	} else {
		p.Method, p.Clusters = result.MethodClustered, clusters.Clusters
		p.Lower, p.Upper = clusteredBounds(passed, total, clusters, p.Lower, p.Upper)
		p.Proven, p.Refuted = p.Lower >= floor, p.Upper < floor
	}
	if clusters == nil && !p.Proven && !p.Refuted {
		rate := float64(passed) / float64(total)
		if size := stats.ProportionSize(rate, floor, 1-proofConfidence, settlePower); size > 0 && size < 1e9 {
			p.Questions = new(int(math.Ceil(size)))
		}
	}
	return &p
}

// clusteredBounds returns one-sided t bounds of a pass rate over clusters, widened to lo and hi,
// the bounds for independent questions.
//
// If all clusters have the same rate, such as questions that always passed, the standard error of 0
// is meaningless: each cluster then counts as one question.
func clusteredBounds(passed, total int, c *result.ClusteredRate, lo, hi float64) (float64, float64) {
	rate, n := float64(passed)/float64(total), float64(c.Clusters)
	switch {
	case c.SE == nil || c.Clusters < 2:
		return 0, 1
	case *c.SE < 1e-12:
		return stats.ExactLower(int(rate*n+1e-9), c.Clusters, proofConfidence),
			stats.ExactUpper(int(math.Ceil(rate*n-1e-9)), c.Clusters, proofConfidence)
	}
	// The ends of a two-sided 90% interval are one-sided 95% bounds.
	low, high := stats.MeanCI(c.Clusters, rate, *c.SE**c.SE*n, 2*proofConfidence-1)
	return max(0, min(lo, low)), min(1, max(hi, high))
}
