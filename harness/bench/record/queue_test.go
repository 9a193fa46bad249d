package record

import (
	"math/rand/v2"
	"testing"
)

// TestQueue has backlogs of 250 or 5,000 requests in 20 counts.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 8))
	for _, c := range []struct {
		name        string
		offered     float64
		backlog     func(i int) int64
		grows, sure bool
	}{
		{"empty", 250, func(int) int64 { return 0 }, false, true},
		{"one or two", 250, func(i int) int64 { return 1 + int64(i%2) }, false, true},
		{"5 % more than it can", 250, func(i int) int64 { return int64(i+1) * 250 / 20 / 20 }, true, true},
		{"5 % more than it can, many", 5000, func(i int) int64 { return int64(i+1) * 5000 / 20 / 20 }, true, true},
		{"0.4 % more than it can", 5000, func(i int) int64 { return int64(i + 1) }, false, true},
		{"takes a tenth of the time", 5000, func(i int) int64 { return min(int64(i+1)*250, 500) }, false, true},
		{"around a mean", 5000, func(int) int64 { return 40 + random.Int64N(20) }, false, true},
		{"shrinks", 5000, func(i int) int64 { return 500 - 20*int64(i) }, false, true},
		{"one stall at the end", 5000, func(i int) int64 { return max(0, int64(i)-17) * 250 }, true, false},
		{"one stall that is over", 5000, func(i int) int64 { return 400 * int64(max(0, 4-max(i-9, 9-i))) }, false, false},
	} {
		backlog := make([]int64, 20)
		for i := range backlog {
			backlog[i] = c.backlog(i)
		}
		b := Block{Backlog: backlog, Ops: []OpBlock{{Op: "search", Offered: int64(c.offered)}}}
		q, _ := queueOf(c.offered, backlog)
		if b.Grows() != c.grows || Settled(c.offered, backlog) != c.sure {
			t.Errorf("%s: grows %v, sure %v: %+v", c.name, b.Grows(), Settled(c.offered, backlog), q)
		}
	}
	if Settled(250, make([]int64, 10)) || (Block{}).Grows() {
		t.Error("a few counts say whether a queue grows")
	}
}
