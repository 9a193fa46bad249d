package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// crowdTime is how long a load of TestCrowds is offered, and before that not counted.
const crowdTime = 4 * time.Second

// crowdPairs is how often TestCrowds measures a load.
const crowdPairs = 3

// TestCrowds offers daemons with each store once, four and ten times the searches that they can
// answer, over few and over thousands of connections. What counts is how much is answered for a
// second of the daemon's processor, next to 64 clients that wait for their responses, each pair of
// loads one after the other. The same pair shows shares from 0.8 to 1.7 on an idle machine, because
// others share its processors; so the median of crowdPairs counts. It and the memory must hold where
// the machine does little else; a part of them must hold on any machine.
func TestCrowds(t *testing.T) {
	longtest.Skip(t)
	if raceDetector {
		t.Skip("measures memory, of which the race detector needs several times as much")
	}
	apart := separate(t)
	for _, store := range []string{"memory", "fs", "git", "postgres"} {
		t.Run(store, func(t *testing.T) {
			from, home := store, t.TempDir()
			switch store {
			case "memory":
				home = ""
			case "postgres":
				from, home = postgrestest.Database(t), ""
			}
			var d *overloaded
			apart(func() { d = startStored(t, from, home) })
			d.fill(t, 1, 10)
			g := newSearches(d)
			g.closed(t, 64, 2*time.Second) // builds the index
			idle := resident(t, d.pid)
			var rows []crowded
			for _, connections := range []int{64, 1024, 4000} {
				for _, factor := range []float64{1, 4, 10} {
					var pairs []crowded
					for range crowdPairs {
						g.disconnect()
						pair := crowded{waiting: g.closed(t, 64, crowdTime/2), factor: factor, connections: connections, idle: idle}
						pair.loaded = g.crowd(t, factor*pair.waiting.rate(), connections, fmt.Sprintf("%v × over %d", factor, connections))
						pair.checkResponses(t)
						pairs = append(pairs, pair)
					}
					slices.SortFunc(pairs, func(a, b crowded) int { return cmp.Compare(a.share(), b.share()) })
					row := pairs[crowdPairs/2]
					row.check(t)
					rows = append(rows, row)
				}
			}
			t.Log(crowdTable(rows))
		})
	}
}

// crowded is one load of a crowd, after one of 64 clients that wait for their responses.
type crowded struct {
	loaded
	waiting     loaded
	factor      float64
	connections int
	idle        int64 // resident bytes without clients
}

// share is how much is answered for a second of the daemon's processor, next to clients that wait.
func (c crowded) share() float64 { return float64(c.waiting.each()) / float64(c.each()) }

func (c crowded) check(t *testing.T) {
	t.Helper()
	goal := .7
	if c.factor == 4 {
		goal = .85
	}
	memory := 2 * c.idle
	busy := c.waited > c.took/3 || c.waiting.waited > c.waiting.took/3
	if busy {
		goal, memory = goal/2, 2*memory
	}
	if got := c.share(); got < goal {
		t.Errorf("%s: answered %.2f of what 64 clients that wait get for a second of the processor, want %.2f", c.name, got, goal)
	}
	if c.memory > memory {
		t.Errorf("%s: %d MiB resident, %d without clients", c.name, c.memory>>20, c.idle>>20)
	}
}

func (c crowded) checkResponses(t *testing.T) {
	t.Helper()
	if c.strange > 0 || c.left > 0 {
		t.Errorf("%s: %d responses are neither 200 nor 503 with Retry-After, and %d clients left", c.name, c.strange, c.left)
	}
}

func crowdTable(rows []crowded) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "connections\toffered ×\tanswered/s\tshed/s\tof a processor\tanswered per processor second\tof 64 that wait\tp50\tp99\tMiB\t× idle\thealth\twaited %\t")
	for _, c := range rows {
		second := func(n int) float64 { return float64(n) / c.took.Seconds() }
		fmt.Fprintf(w, "%d\t%v\t%.0f\t%.0f\t%.2f\t%.0f\t%.2f\t%.1f\t%.1f\t%d\t%.2f\t%d\t%.0f\t\n", c.connections, c.factor,
			c.rate(), second(c.shed), c.cpu.Seconds()/c.took.Seconds(), 1/c.each().Seconds(), c.share(),
			float64(c.daemon.Quantile(.5))/1e6, float64(c.daemon.Quantile(.99))/1e6, c.memory>>20, float64(c.memory)/float64(c.idle),
			c.health.Milliseconds(), 100*c.waited.Seconds()/c.took.Seconds())
	}
	_ = w.Flush()
	return "times in ms, of answered requests and from when they were sent; health: the longest time; waited: for processors that others had\n" + b.String()
}
