package nightly

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	// leftOut is the number of results of the arm that measure something else.
	leftOut int
}

// history is what the folder of results contains of the last nights.
type history struct {
	results map[string][]*result.Result // of replays, by the date of their folder
	// unreadable says which files could not be read, and why.
	unreadable []string
}

// readHistory reads the result files in <root>/<date> and in the folders in it, for the dates from
// first to last.
func readHistory(root string, first, last time.Time) *history {
	h := &history{results: map[string][]*result.Result{}}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		for _, depth := range []string{"*.json", filepath.Join("*", "*.json")} {
			h.read(filepath.Join(root, date), depth, date)
		}
	}
	return h
}

// read reads the result files in dir that match a pattern. Those that are not of replays are left
// out.
func (h *history) read(dir, pattern, date string) {
	paths, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
	if err != nil {
		h.unreadable = append(h.unreadable, fmt.Sprintf("%s: %v", dir, err))
	}
	for _, name := range paths {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".sweep.json") {
			continue
		}
		r, err := result.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			h.unreadable = append(h.unreadable, err.Error())
			continue
		}
		res := r.Result()
		r.Close()
		if res.Replay != nil {
			h.results[date] = append(h.results[date], &res)
		}
	}
}

// trendOf returns the nights before that of res with comparable results, and that night.
func (h *history) trendOf(res *result.Result) trend {
	var t trend
	last := dayOf(res)
	for day := last.AddDate(0, 0, 1-nights); !day.After(last); day = day.AddDate(0, 0, 1) {
		n := night{date: day.Format(time.DateOnly)}
		for _, other := range h.results[n.date] {
			switch {
			case other.Replay.Arm != res.Replay.Arm || other.StartedAt.Equal(res.StartedAt):
				continue
			case !comparable(other, res):
				t.leftOut++
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

// comparable reports whether two results of the same arm measure the same thing.
func comparable(a, b *result.Result) bool {
	return a.Identity.Dataset.SHA256 == b.Identity.Dataset.SHA256 &&
		a.Replay.Actor.Style == b.Replay.Actor.Style &&
		a.Replay.Sample.Size == b.Replay.Sample.Size &&
		a.ScorerName == b.ScorerName
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

// rates returns the pass rates of the nights that have one.
func (t trend) rates() []float64 {
	var out []float64
	for _, n := range t.nights {
		if n.scored() {
			out = append(out, *n.res.PassRate)
		}
	}
	return out
}
