package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/internal/longtest"
)

const (
	loadTime = 10 * time.Second // of each load
	giveUp   = time.Second      // after which a client leaves
)

// TestOverload offers a daemon half, once, twice and four times the searches that it can answer, in
// a Poisson process: clients that do not wait for each other, and leave after a second. Before and
// after that, clients wait for their responses, and send the next request at once whatever these
// are. The daemon has a processor of its own where there are two, and always reports its health.
// The log is a table of the figures; what must hold on any machine is checked.
func TestOverload(t *testing.T) {
	longtest.Skip(t)
	if raceDetector {
		t.Skip("measures memory, of which the race detector needs several times as much")
	}
	apart := separate(t)
	var d *overloaded
	apart(func() { d = startProcess(t, "--pprof") })
	d.fill(t, 40, 120)
	g := newSearches(d)
	g.closed(t, 64, time.Second) // builds the index
	start := resident(t, d.pid)

	waiting := g.closed(t, 64, loadTime/2)
	if waiting.answered < waiting.offered {
		t.Errorf("of the requests of 64 clients that wait for their responses, only %d of %d were answered", waiting.answered, waiting.offered)
	}
	half := g.open(t, waiting.rate()/2, "0.5 × capacity")
	rows := []loaded{waiting, half}
	for _, factor := range []float64{1, 2, 4} {
		rows = append(rows, g.open(t, factor*waiting.rate(), fmt.Sprintf("%v × capacity", factor)))
	}
	rows = append(rows, g.closed(t, 256, loadTime/2))
	t.Log(table(rows, half, start))
	for _, got := range rows {
		if late := time.Duration(got.late.Quantile(.99)); late > 5*time.Millisecond || got.waited > got.took/3 {
			t.Logf("%s: the generator sent requests up to %v late (p99), and the daemon waited %v of %v for processors: "+
				"run it on an idle machine", got.name, late, got.waited.Round(time.Millisecond), got.took)
		}
		if got.strange > 0 {
			t.Errorf("%s: %d responses are neither 200 nor 503 with Retry-After", got.name, got.strange)
		}
		if limit := half.memory + half.memory/2 + 16<<20; got.memory > limit {
			t.Errorf("%s: %d MiB resident, with half load %d", got.name, got.memory>>20, half.memory>>20)
		}
	}
	for _, got := range rows[3:5] {
		if got.answered == 0 || got.shed == 0 {
			t.Errorf("%s: %d answered, %d shed", got.name, got.answered, got.shed)
		}
	}
}

// loaded is what became of the requests of one load.
type loaded struct {
	name                                   string
	took                                   time.Duration
	offered, answered, shed, left, strange int
	// intended counts from when a request should have begun, daemon from when it was sent, both of
	// answered requests. late is the difference, of all requests.
	intended, daemon, late *record.Histogram
	memory                 int64         // the most resident bytes
	health                 time.Duration // the longest time of its report
	cpu                    time.Duration // of the daemon
	waited                 time.Duration // for a processor that others had, the threads of the daemon together
}

func (l loaded) rate() float64 { return float64(l.answered) / l.took.Seconds() }

// each is the processor time of the daemon for each answered request. Unlike the rates, it does not
// depend on what else the machine does.
func (l loaded) each() time.Duration { return l.cpu / time.Duration(max(1, l.answered)) }

// table shows rows, relative to the best rate and to half load.
func table(rows []loaded, half loaded, start int64) string {
	best := slices.MaxFunc(rows[:5], func(a, b loaded) int { return int(a.rate() - b.rate()) }).rate()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\toffered/s\tanswered/s\tof best\tshed/s\tleft/s\tp50\tp99\t× half\tp50 intended\tp99 intended\t"+
		"generator late p99\tMiB\t× half\tµs each\t× half\thealth\twaited %\t")
	ms := func(h *record.Histogram, p float64) string { return fmt.Sprintf("%.1f", float64(h.Quantile(p))/1e6) }
	for _, l := range rows {
		second := func(n int) float64 { return float64(n) / l.took.Seconds() }
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%s\t%s\t%.1f\t%s\t%s\t%s\t%d\t%.2f\t%d\t%.2f\t%d\t%.0f\t\n", l.name,
			second(l.offered), l.rate(), l.rate()/best, second(l.shed), second(l.left),
			ms(l.daemon, .5), ms(l.daemon, .99), float64(l.daemon.Quantile(.99))/float64(half.daemon.Quantile(.99)),
			ms(l.intended, .5), ms(l.intended, .99), ms(l.late, .99),
			l.memory>>20, float64(l.memory)/float64(half.memory), l.each().Microseconds(), float64(l.each())/float64(half.each()), l.health.Milliseconds(), 100*l.waited.Seconds()/l.took.Seconds())
	}
	_ = w.Flush()
	return fmt.Sprintf("times in ms, of answered requests and from when they were sent, unless intended; health: the longest time; "+
		"waited: for processors that others had, or the threads of the daemon from each other; %d MiB at the start\n%s", start>>20, b.String())
}
