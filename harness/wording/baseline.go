package wording

import (
	"fmt"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// Baseline compares the run with its baseline, in one line.
func Baseline(b *result.BaselineGate) string {
	if b.Accepted != "" {
		return baseline(b) + ". " + b.Accepted
	}
	return baseline(b)
}

func baseline(b *result.BaselineGate) string {
	if b.Difference == nil {
		return fmt.Sprintf("not shown to be not worse than the baseline: no question has a verdict in both (%d unpaired)", b.Unpaired)
	}
	margin := points(b.Margin)
	over := figure.Count(b.Pairs(), "pair")
	if b.Clusters != nil {
		over += " in " + figure.Count(b.Clusters.Clusters, "cluster") + " by " + b.Clusters.Tag
	}
	if b.Interval == nil {
		return fmt.Sprintf("not shown to be not worse than the baseline: %s points over %s, which are too few clusters to tell", figure.Points(*b.Difference), over)
	}
	method, _ := Method(b.Interval.Method)
	figures := fmt.Sprintf("%s points, 95%% CI %s to %s (%s), over %s", figure.Points(*b.Difference), figure.Points(b.Interval.Low), figure.Points(b.Interval.High),
		method, over)
	switch b.Verdict {
	case result.NotWorse:
		return fmt.Sprintf("not worse than the baseline by %s points: %s", margin, figures)
	case result.Worse:
		return fmt.Sprintf("worse than the baseline by more than %s points: %s", margin, figures)
	}
	s := fmt.Sprintf("not shown to be not worse than the baseline by %s points: %s", margin, figures)
	switch {
	case b.Settles != nil:
		return s + fmt.Sprintf("; with %s of the same shares it could be", figure.Count(*b.Settles, "question"))
	case b.Clusters != nil && *b.Difference > -b.Margin:
		return s + "; questions about more of them would be needed"
	case *b.Difference <= -b.Margin:
		return s + "; more questions of the same shares would not show it"
	}
	return s
}

// points formats a share in percentage points.
func points(share float64) string { return fmt.Sprintf("%.4g", 100*share) }
