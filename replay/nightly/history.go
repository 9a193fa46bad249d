package nightly

import (
	"errors"
	"io/fs"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/result"
)

// nights is the length of the trend in days, including the night of the report.
const nights = 14

// night is the result of an arm in one night.
type night struct {
	date string         // as time.DateOnly
	res  *result.Result // nil if there is none
	// others is the number of further results of the same night, which are not shown.
	others int
}

// trend has the nights of one arm, from the first with a result to the night of the report, without
// gaps.
type trend struct {
	nights []night
	// leftOut is the number of the arm's results that measure something else. differing are the
	// settings in which they differ from the reported result.
	leftOut   int
	differing []string
}

// earlier has the results of the last nights in the folder of results.
type earlier struct {
	results map[string][]*result.Result // of replays, by date
	// unreadable names the files that could not be read, with the reasons.
	unreadable []string
}

// readEarlier reads the results of replays in a folder since the date first. A missing folder has
// none.
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

// trendOf returns the nights with comparable results up to the night of res.
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

// better reports whether a represents a night rather than b: complete results come first, then
// later ones.
func better(a, b *result.Result) bool {
	if (a.Stopped == "") != (b.Stopped == "") {
		return a.Stopped == ""
	}
	return a.FinishedAt.After(b.FinishedAt)
}

// scored reports whether the night has a meaningful pass rate.
func (n night) scored() bool {
	return n.res != nil && scored(n.res)
}
