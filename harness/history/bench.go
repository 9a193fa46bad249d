package history

import (
	"cmp"
	"fmt"
	"slices"

	"evalctl/harness/bench/record"
	"evalctl/harness/key"
)

// Load has a bench's figures for one operation of a target. In a search for the highest rate, Op is
// the mix and only Rate is known.
type Load struct {
	Target    string `json:"target"`
	Op        string `json:"op"`
	Arrival   string `json:"arrival"` // such as 8 clients or 200/s
	Documents int    `json:"documents"`
	// Rate is the number of successful requests per second.
	Rate *record.Quantity `json:"rate"`
	// Times are in milliseconds, nil if there were too few requests. NullP99 is the null daemon's
	// p99, which shows the state of the machine.
	P50     *record.Quantity `json:"p50_ms"`
	P99     *record.Quantity `json:"p99_ms"`
	NullP99 *record.Quantity `json:"null_p99_ms"`
	// Daemon is the version reported by the target.
	Daemon string `json:"daemon,omitempty"`
}

// benchEntry returns the entry of a bench.
func benchEntry(path string, f *record.File) *Entry {
	e := &Entry{
		Kind: Bench, Name: f.SDK, Path: path, StartedAt: f.StartedAt, FinishedAt: f.FinishedAt, Stopped: f.Stopped,
		Loads: []Load{},
	}
	settings := &key.File{Name: path, Leaves: f.Settings()}
	e.measure, e.missing = key.Measure(key.Trend, settings), key.Missing(key.Trend, settings)
	for _, s := range f.Summaries {
		if f.Targets[s.Target].Null && len(f.Targets) > 1 {
			continue
		}
		for _, o := range s.Ops {
			l := newLoad(f, s.Target, o.Op, f.Plan.ArrivalAt(s.Stage), s.Size)
			if l.Rate = o.Rate; o.Latency != nil {
				l.P50, l.P99 = o.Latency.P50, o.Latency.P99
			}
			l.NullP99 = nullP99(f, s.Stage, o.Op)
			e.Loads = append(e.Loads, l)
		}
	}
	for _, l := range f.Limits {
		if l.Confirmed {
			load := newLoad(f, l.Target, f.Plan.MixText(), "highest rate with "+f.Plan.Search, f.Plan.Sizes[0])
			load.Rate = &record.Quantity{Value: l.Rate}
			e.Loads = append(e.Loads, load)
		}
	}
	return e
}

func newLoad(f *record.File, target int, op, arrival string, documents int) Load {
	t := f.Targets[target]
	return Load{Target: t.Name, Op: op, Arrival: arrival, Documents: documents, Daemon: t.Daemon.Version}
}

// nullP99 returns the null daemon's p99 for an operation at a stage, nil if unknown.
func nullP99(f *record.File, stage int, op string) *record.Quantity {
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			if f.Targets[s.Target].Null && s.Stage == stage && o.Op == op && o.Latency != nil {
				return o.Latency.P99
			}
		}
	}
	return nil
}

// BenchLine is one operation of a target under one load over time.
type BenchLine struct {
	Target    string       `json:"target"`
	Op        string       `json:"op"`
	Arrival   string       `json:"arrival"`
	Documents int          `json:"documents"`
	Nights    []BenchNight `json:"nights"` // in order of the date
	Older     int          `json:"older"`  // nights before them that were left out
}

// BenchNight is the last complete bench of a date.
type BenchNight struct {
	Date string `json:"date"`
	Path string `json:"path"`
	Load
}

// benchLines returns the lines of the complete benches among entries, which must be sorted newest
// first. Each line has its last nights, or all if last is 0. A line contains only benches that did
// the same work.
func benchLines(entries []*Entry, last int) []*BenchLine {
	type series struct{ measure, target, op, arrival, documents string }
	bySeries, lines := map[series]*BenchLine{}, []*BenchLine{} // not null, as JSON
	for _, e := range slices.Backward(entries) {
		if e.Kind != Bench || e.Stopped != "" {
			continue
		}
		for _, l := range e.Loads {
			k := series{fmt.Sprint(e.measure), l.Target, l.Op, l.Arrival, fmt.Sprint(l.Documents)}
			line := bySeries[k]
			if line == nil {
				line = &BenchLine{Target: l.Target, Op: l.Op, Arrival: l.Arrival, Documents: l.Documents}
				bySeries[k], lines = line, append(lines, line)
			}
			if n := len(line.Nights); n > 0 && line.Nights[n-1].Date == e.Date() {
				line.Nights = line.Nights[:n-1]
			}
			line.Nights = append(line.Nights, BenchNight{e.Date(), e.Path, l})
		}
	}
	for _, l := range lines {
		if more := len(l.Nights) - last; last > 0 && more > 0 {
			l.Nights, l.Older = l.Nights[more:], more
		}
	}
	slices.SortStableFunc(lines, func(a, b *BenchLine) int {
		return cmp.Compare(b.Nights[len(b.Nights)-1].Date, a.Nights[len(a.Nights)-1].Date)
	})
	return lines
}
