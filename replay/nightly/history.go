package nightly

import (
	"errors"
	"io/fs"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/result"
)

// nights is the length of the trend in days, the night of the report included.
const nights = 14

// night is the result of an arm in one night.
type night struct {
	date string         // as time.DateOnly
	res  *result.Result // nil if there is none
	// others is the number of further results of the same night, which are not shown.
	others int
}

// trend has the nights of one arm, from the first with a result to that of the report. Every day
// between them has a night.
type trend struct {
	nights []night
	// leftOut is the number of results of the arm that measure something else, and differing are the
	// settings in which they do not agree with that of the report.
	leftOut   int
	differing []string
}

// earlier is what the folder of results contains of the last nights.
type earlier struct {
	results map[string][]*result.Result // of replays, by date
	// unreadable says which files could not be read, and why.
	unreadable []string
}

// readEarlier reads the results of replays in a folder, from the date first on. A folder that is
// missing has none.
func readEarlier(root string, first time.Time) *earlier {
	h := &earlier{results: map[string][]*result.Result{}}
	f, err := history.Read(root, first)
	if errors.Is(err, fs.ErrNotExist) {
		return h
	}
	if err != nil {
		h.unreadable = append(h.unreadable, err.Error())
		return h
	}
	for _, e := range f.Entries {
		if e.Kind == history.Replay {
			h.results[e.Date()] = append(h.results[e.Date()], e.Result)
		}
	}
	for _, u := range f.Unreadable {
		h.unreadable = append(h.unreadable, u.Reason)
	}
	return h
}

// trendOf returns the nights before that of res with comparable results, and that night.
func (h *earlier) trendOf(res *result.Result) trend {
	var t trend
	last := dayOf(res)
	for day := last.AddDate(0, 0, 1-nights); !day.After(last); day = day.AddDate(0, 0, 1) {
		n := night{date: day.Format(time.DateOnly)}
		for _, other := range h.results[n.date] {
			if other.Replay.Arm != res.Replay.Arm || other.StartedAt.Equal(res.StartedAt) {
				continue
			}
			both := []*key.File{{Name: n.date, Result: other}, {Name: last.Format(time.DateOnly), Result: res}}
			if _, e := key.Check(key.Trend, both, nil); e != nil {
				t.leftOut++
				t.differing = append(t.differing, e.Differing...)
				continue
			}
			if n.res != nil {
				n.others++
			}
			if n.res == nil || better(other, n.res) {
				n.res = other
			}
		}
		if day.Equal(last) {
			if n.res != nil {
				n.others++
			}
			n.res = res
		}
		if n.res != nil || len(t.nights) > 0 {
			t.nights = append(t.nights, n)
		}
	}
	return t
}

// better reports whether a stands for a night rather than b: the last one that is complete, or else
// the last one.
func better(a, b *result.Result) bool {
	if (a.Stopped == "") != (b.Stopped == "") {
		return a.Stopped == ""
	}
	return a.FinishedAt.After(b.FinishedAt)
}

// scored reports whether the night has a pass rate that says something about the memory.
func (n night) scored() bool {
	return n.res != nil && scored(n.res)
}
