package conformance

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	ct "evalctl/harness/conformance/conformancetest"
)

// What is wrong with all events of a daemon is one finding, of the check that is about it. The
// checks that it keeps from their end are not judged, for that reason.
func TestEventDefects(t *testing.T) {
	t.Parallel()
	const at = 80 * time.Millisecond
	named := func(from, to string) wrapper {
		return replaceEventFrames(func(f frame) []frame {
			if f.name == from {
				f.name = to
			}
			return []frame{f}
		})
	}
	payload := func(from, to string) wrapper {
		return replaceEventFrames(func(f frame) []frame {
			f.data = strings.ReplaceAll(f.data, from, to)
			return []frame{f}
		})
	}
	const (
		cut       = "change streams are ended by the daemon"
		form      = "changes are reported in another form"
		kind      = "events have another kind"
		reordered = "events are not sent in the order"
	)
	for n, tt := range []struct {
		name     string
		wrap     wrapper
		findings []string // causes
		checks   []string // the broken ones
	}{
		{"end", ct.CutStreams(ct.Cut{After: at}), []string{cut}, []string{"events-stays-open"}},
		{"reset", ct.CutStreams(ct.Cut{After: at, Reset: true}), []string{cut}, []string{"events-stays-open"}},
		{"end before ready", beforeReady(false), []string{cut}, []string{"events-stays-open"}},
		{"reset before ready", beforeReady(true), []string{cut}, []string{"events-stays-open"}},
		{"end when idle", ct.CutStreams(ct.Cut{After: 500 * time.Millisecond, Idle: true}), []string{cut}, []string{"events-stays-open"}},
		{"end of streams with Last-Event-ID", ct.CutStreams(ct.Cut{If: withHeader("Last-Event-ID"), After: at}), []string{cut},
			[]string{"events-stays-open"}},
		{"changes as update", named(protocol.EventChange, "update"), []string{form}, []string{"events-change"}},
		{"changes without a name", named(protocol.EventChange, "message"), []string{form}, []string{"events-change"}},
		{"path as file", payload(`"path"`, `"file"`), []string{form}, []string{"events-change"}},
		{"ready as hello", named(protocol.EventReady, "hello"), []string{"GET /events"}, []string{"events-ready"}},
		{"kinds in the present tense", payload(`ed","path"`, `e","path"`), []string{kind}, []string{"events-kinds"}},
		{"kind as type", payload(`"kind"`, `"type"`), []string{kind}, []string{"events-kinds"}},
		{"pairs swapped", rewriteStream(eventsRoute, swapNumbered), []string{reordered},
			[]string{"events-commit-order", "events-batch", "events-batch-large"}},
	} {
		if testing.Short() && n%8 != 0 {
			continue // a few show what is concurrent
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only, o.Parallel = []string{"events"}, 8
			o.Timeout = time.Minute
			r := run(t, o)
			wantFindings(t, r, tt.findings)
			var broken []string
			for _, res := range r.Results {
				if res.Verdict == Broken {
					broken = append(broken, res.ID)
				}
			}
			if strings.Join(broken, " ") != strings.Join(sortedAs(r, tt.checks), " ") {
				t.Errorf("broken: %q, want %q", broken, tt.checks)
			}
			if len(r.Findings) == 1 && r.Findings[0].Response == "" {
				t.Errorf("no evidence: %+v", r.Findings[0])
			}
		})
	}
}

// An event of an ask under another name breaks one check.
func TestAskEventNames(t *testing.T) {
	for from, want := range map[string][]string{
		protocol.EventRetrieve: {"ask-retrieve"},
		protocol.EventDelta:    {"ask-known-events"},
		protocol.EventDone:     {"ask-ends"},
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), replaceAskFrames(from, func(f frame) []frame {
				f.name = "other"
				return []frame{f}
			})))
			o.Only = []string{"ask"}
			r := run(t, o)
			wantFindings(t, r, want)
			if n := r.Count("", Must, Broken) + r.Count("", Should, Broken); n != 1 {
				t.Errorf("%d broken", n)
			}
		})
	}
}

// beforeReady ends change streams after their headers.
func beforeReady(isReset bool) wrapper {
	silent := replaceEventFrames(dropFrame)
	return func(next http.Handler) http.Handler {
		return ct.CutStreams(ct.Cut{After: 30 * time.Millisecond, Reset: isReset})(silent(next))
	}
}

// swapNumbered swaps pairs of changes, whose ids increase all the same.
func swapNumbered(r *http.Request) func(frame) []frame {
	swap, n := swapPairs(r), 0
	return func(f frame) []frame {
		frames := swap(f)
		for i := range frames {
			n++
			frames[i].id = strconv.Itoa(n)
		}
		return frames
	}
}

// sortedAs returns ids in the order of the results.
func sortedAs(r Report, ids []string) []string {
	var sorted []string
	for _, res := range r.Results {
		for _, id := range ids {
			if id == res.ID {
				sorted = append(sorted, id)
			}
		}
	}
	return sorted
}
