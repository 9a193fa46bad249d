package history

import (
	"slices"
	"time"

	"evalctl/harness/result"
)

// Past is the line of one result in the days before it, without Changes.
type Past struct {
	*Line
	// LeftOut is the number of results of the same target that are on other lines, and Differing
	// has the sorted names of the settings in which they differ from the result.
	LeftOut   int
	Differing []string
}

// PastOf returns the line of a result among the entries of its day and of the days before, so many
// days in all. The result itself represents its night and need not be among the entries, which are
// sorted newest first.
func PastOf(res *result.Result, entries []*Entry, days int) Past {
	own := newEntry("", res)
	p := Past{Line: newLine(own)}
	first := own.StartedAt.UTC().AddDate(0, 0, 1-days).Format(time.DateOnly)
	for _, e := range slices.Backward(entries) {
		same := e.Kind == own.Kind && e.Name == own.Name && !e.StartedAt.Equal(own.StartedAt)
		if !same || e.Date() < first || e.Date() > own.Date() {
			continue
		}
		if e.shared() != own.shared() {
			p.LeftOut++
			p.Differing = append(p.Differing, e.differing(own)...)
			continue
		}
		p.add(e)
	}
	p.add(own)
	p.Nights[len(p.Nights)-1].Entry = own
	p.finish(0)
	p.Differing = slices.Compact(slices.Sorted(slices.Values(p.Differing)))
	return p
}

// EveryDay returns a copy of the line with the days between its nights, which have no entry.
func (l *Line) EveryDay() *Line {
	all := *l
	all.Nights = nil
	for _, n := range l.Nights {
		for len(all.Nights) > 0 {
			next := dayAfter(all.Nights[len(all.Nights)-1].Date)
			if next >= n.Date {
				break
			}
			all.Nights = append(all.Nights, Night{Date: next})
		}
		all.Nights = append(all.Nights, n)
	}
	return &all
}

// dayAfter returns the day after a date, which is one of time.DateOnly.
func dayAfter(date string) string {
	day, _ := time.Parse(time.DateOnly, date)
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}
