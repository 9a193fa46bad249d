package record

import (
	"math"

	"evalctl/internal/stats"
)

// A queue grows if requests arrive faster than they are served. Its growth is the share of arriving
// requests that only lengthen it: a service loaded 5 % above its capacity has a growth of 5 %.
const (
	// allowedGrowth is the largest growth at which a service still keeps up, equal to the allowed
	// error share.
	allowedGrowth = Served
	// spans is the number of parts of a block whose mean backlogs are compared.
	spans = 8
	// sureness is the confidence for calling a queue growing before the time limit. It is high
	// because the test is repeated several times.
	sureness = 0.99
	// overlap is the factor by which the standard error of a sum of neighbouring differences of
	// means of a random walk exceeds the independent case: √1.5.
	overlap = 1.2247
)

// queue is the growth of a backlog with its interval.
type queue struct{ growth, low, high float64 }

// queueOf returns the growth of a block's backlog. It skips the initial rise that any service of
// this latency shows: by Little's law, the mean backlog divided by the rate. ok is false without
// enough counts or requests.
//
// It uses differences between means of neighbouring parts instead of the residuals of a line: near
// capacity, the queue of a service with varying speed is a random walk, whose residuals understate
// how far it may drift.
func queueOf(offered float64, backlog []int64) (q queue, ok bool) {
	n := len(backlog)
	each := offered / float64(n) // requests between two counts
	if n < 2*spans || each <= 0 {
		return q, false
	}
	sum := int64(0)
	for _, b := range backlog {
		sum += b
	}
	skip := min(n/2, int(math.Ceil(float64(sum)/float64(n)/each)))
	part := float64(n-skip) / spans
	means := make([]float64, spans)
	for i := range means {
		means[i] = meanBetween(backlog[skip:], part*float64(i), part*float64(i+1))
	}
	steps := make([]float64, spans-1)
	for i := range steps {
		steps[i] = (means[i+1] - means[i]) / (part * each)
	}
	mean, variance := stats.Moments(steps)
	q.growth = mean
	q.low, q.high = stats.MeanCI(len(steps), mean, variance*overlap*overlap, sureness)
	return q, true
}

// meanBetween returns the mean between two times of values that last 1 each.
func meanBetween(values []int64, from, to float64) float64 {
	sum := 0.0
	for i := int(from); i < len(values) && float64(i) < to; i++ {
		sum += float64(values[i]) * (min(to, float64(i+1)) - max(from, float64(i)))
	}
	return sum / (to - from)
}

// sure reports whether more time is unlikely to change the result of grows.
func (q queue) sure() bool { return q.growth > allowedGrowth && q.low > 0 || q.high < 2*allowedGrowth }

// grows reports whether the queue grows. Without certainty it requires a larger growth.
func (q queue) grows() bool {
	return q.growth > allowedGrowth && (q.low > 0 || q.growth > 2*allowedGrowth)
}

// Settled reports whether the backlog counts suffice to decide whether a queue grows. offered is
// the number of requests over the counts.
func Settled(offered float64, backlog []int64) bool {
	q, ok := queueOf(offered, backlog)
	return ok && q.sure()
}

// Grows reports whether the queue of a block grew, so that the service did not keep up. It is false
// for a block without backlog counts.
func (b Block) Grows() bool {
	o, _ := b.op(All)
	q, ok := queueOf(float64(o.Offered), b.Backlog)
	return ok && q.grows()
}
