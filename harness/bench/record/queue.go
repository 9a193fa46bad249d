package record

import (
	"math"

	"evalctl/internal/stats"
)

// A queue grows if more requests come than go. By how much is the growth: the share of the requests
// that come and only make the queue longer. At 5 % above its capacity, a service has a growth of 5 %.
const (
	// allowedGrowth is the largest one of a service that keeps up, the same share as that of errors.
	allowedGrowth = Served
	// spans is the number of parts of a block whose mean backlogs are compared.
	spans = 8
	// sureness is the confidence at which a queue is called growing before the longest time is over.
	// It is high, since the question is asked several times.
	sureness = 0.99
	// overlap is by how much the standard error of a sum of differences of neighbouring means of a
	// random walk is larger than if these were independent: √1.5.
	overlap = 1.2247
)

// queue is the growth of a backlog with its interval.
type queue struct{ growth, low, high float64 }

// queueOf returns the growth of a block's backlog. The beginning is left out, in which the requests
// come that a service of this latency always has: by Little's law, the mean backlog divided by the
// rate. ok is false without enough counts or requests.
//
// Differences between means of neighbouring parts are used, and not residuals of a line: near its
// capacity the queue of a service that varies is a random walk, whose residuals say little of how
// far it may go.
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

// meanBetween returns the mean of values of which each lasts for 1, between two times.
func meanBetween(values []int64, from, to float64) float64 {
	sum := 0.0
	for i := int(from); i < len(values) && float64(i) < to; i++ {
		sum += float64(values[i]) * (min(to, float64(i+1)) - max(from, float64(i)))
	}
	return sum / (to - from)
}

// sure reports whether more time would hardly change whether the queue is called growing.
func (q queue) sure() bool { return q.growth > allowedGrowth && q.low > 0 || q.high < 2*allowedGrowth }

// grows reports whether the queue grows. If that is not sure, the growth must be larger.
func (q queue) grows() bool {
	return q.growth > allowedGrowth && (q.low > 0 || q.growth > 2*allowedGrowth)
}

// Settled reports whether it is known if a queue grows, from counts of the backlog among which so
// many requests were offered.
func Settled(offered float64, backlog []int64) bool {
	q, ok := queueOf(offered, backlog)
	return ok && q.sure()
}

// Grows reports whether the queue of a block grew: the service did not keep up. It is false for a
// block without counts of its backlog.
func (b Block) Grows() bool {
	o, _ := b.op(All)
	q, ok := queueOf(float64(o.Offered), b.Backlog)
	return ok && q.grows()
}
