package compare

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// repeatedly returns runs of an SDK, of which the last question fails in every second one. Their
// latencies are 100 ms times slow, and differ a little.
func repeatedly(t *testing.T, sdk string, runs int, slow float64) []*Run {
	t.Helper()
	var out []*Run
	for i := range runs {
		f := newFile(sdk, strings.Repeat("p", 11)+string("pf"[i%2]))
		f.StartedAt = f.StartedAt.Add(time.Duration(i) * time.Hour)
		for q := range f.Questions {
			f.Questions[q].LatencyMS = slow * (100 + float64(10*q)) * (1 + float64(i)/100)
		}
		out = append(out, f.open(t))
	}
	return out
}

func TestSides(t *testing.T) {
	fast, slow := Side("old", repeatedly(t, "go", 3, 1)), Side("new", repeatedly(t, "go", 4, 1.5))
	c := mustCompare(t, Options{Baseline: "old"}, slow, fast)
	for i, want := range []struct {
		name          string
		files, passed int
	}{{"old", 3, 35}, {"new", 4, 46}} {
		r := c.Runs[i]
		if r.Name != want.name || len(r.Files) != want.files || len(r.Paths()) != want.files || r.Counts.Total != 12*want.files ||
			r.Counts.Passed != want.passed || r.Asked != r.Counts.Total || r.Clustered.Clusters != 12 {
			t.Errorf("%+v", r)
		}
	}
	p := c.Pairs[0]
	if !c.Repeated || p.N != 12 || p.Both != 11 || p.OnlyReference != 1 || math.Abs(*p.Difference-(.5-2./3)/12) > 1e-12 {
		t.Errorf("pair %+v of %d", p.Table, p.N)
	}
	l := p.Latencies[0]
	if l.ReferenceRuns != 3 || l.RunRuns != 4 || l.N != 12 || l.Test != "welch_t_log" || l.Verdict != Worse || l.Interval.Low > l.Ratio || l.Interval.High < l.Ratio {
		t.Errorf("latency %+v", l)
	}
	if math.Abs(l.Runs.Low-1.5/1.02) > 1e-9 || math.Abs(l.Runs.High-1.5*1.03) > 1e-9 {
		t.Errorf("over runs %+v", l.Runs)
	}
	mirrored := mustCompare(t, Options{Baseline: "new"}, slow, fast).Pairs[0].Latencies[0]
	for what, product := range map[string]float64{
		"ratio": l.Ratio * mirrored.Ratio, "interval": l.Interval.Low * mirrored.Interval.High,
		"runs": l.Runs.Low * mirrored.Runs.High, "questions": l.Questions.Low * mirrored.Questions.High, "p": *l.P / *mirrored.P,
	} {
		if math.Abs(product-1) > 1e-9 {
			t.Errorf("%s: the product with the inverse is %v", what, product)
		}
	}
	if !slices.Equal(c.Key("machine").Values, []string{"linux/amd64, 2 CPUs", "linux/amd64, 2 CPUs"}) {
		t.Errorf("values of a key %q", c.Key("machine").Values)
	}
}

// TestFileNames checks that a side of one run is called the same whatever the other side has.
func TestFileNames(t *testing.T) {
	file := func(path string) *Run { return &Run{path: path} }
	several := Side("new", []*Run{file("x/b.json"), file("x/c.json")})
	for _, c := range []struct {
		sides       []*Run
		names, want string
	}{
		{[]*Run{Side("old", []*Run{file("x/a.json")}), several}, "old new", "old b c"},
		{[]*Run{several, Side("old", []*Run{file("x/a.json")})}, "new old", "b c old"},
		{[]*Run{Side("c", []*Run{file("x/a.json")}), several}, "c new", "a b c"},
		{[]*Run{file("x/a.json"), file("x/b.json")}, "1 2", "1 2"},
	} {
		if got := strings.Join(fileNames(c.sides, strings.Fields(c.names)), " "); got != c.want {
			t.Errorf("%s: files %q, want %q", c.names, got, c.want)
		}
	}
}

// TestRunsNeeded checks that the reason for no verdict is said once, with what to do.
func TestRunsNeeded(t *testing.T) {
	old, more := Side("old", repeatedly(t, "go", 2, 1)), Side("new", repeatedly(t, "go", 5, 2))
	c := mustCompare(t, Options{Baseline: "old"}, old, more)
	l := c.Pairs[0].Latencies[0]
	if l.Verdict != NotJudged || l.P != nil || l.Interval != nil || l.Runs == nil {
		t.Errorf("%+v", l)
	}
	said := slices.DeleteFunc(slices.Clone(c.Notes), func(n string) bool { return !strings.Contains(n, "latencies") })
	if len(said) != 1 || !strings.Contains(said[0], "not judged (old 2 runs)") || !strings.Contains(said[0], "evalctl compare old=FILE,FILE,FILE") || strings.Contains(said[0], "new=") {
		t.Errorf("notes %q", said)
	}
}

// TestRunsInTurn checks that a note says when all runs of one side came first.
func TestRunsInTurn(t *testing.T) {
	note := func(old, changed []*Run) bool {
		c := mustCompare(t, Options{}, Side("old", old), Side("new", changed))
		return slices.ContainsFunc(c.Notes, func(n string) bool {
			return strings.Contains(n, "all runs of old began before all runs of new")
		})
	}
	old, changed := repeatedly(t, "go", 3, 1), repeatedly(t, "go", 3, 1.1)
	if note(old, changed) {
		t.Error("runs that took turns are said not to")
	}
	for _, r := range changed {
		r.res.StartedAt = r.res.StartedAt.Add(24 * time.Hour)
	}
	if !note(old, changed) {
		t.Error("no note says that one side came first")
	}
}

func TestSideErrors(t *testing.T) {
	runs := repeatedly(t, "go", 4, 1)
	data := filetest.Read(t, runs[0].path)
	same := filetest.Write(t, filepath.Join(t.TempDir(), "copy.json"), data)
	copied, err := Open(same)
	if err != nil {
		t.Fatal(err)
	}
	again := newFile("go", strings.Repeat("f", 12))
	again.Identity.Rescored = &result.RescoreSource{MeasuredAt: again.StartedAt} // when the first run began
	again.StartedAt = again.StartedAt.Add(24 * time.Hour)
	scored := again.open(t)
	other := newFile("go", strings.Repeat("p", 12))
	other.Identity.Mode, other.StartedAt = "bm25", other.StartedAt.Add(time.Minute)
	for name, c := range map[string]struct {
		sides []*Run
		want  error
		text  string
	}{
		"a file in two sides": {[]*Run{Side("a", runs[:2]), Side("b", runs[1:])}, ErrOptions, "are the same file"},
		"a copy":              {[]*Run{Side("a", []*Run{runs[0], copied}), Side("b", runs[2:])}, ErrOptions, "are of the same run; give each run of a once"},
		"scored again":        {[]*Run{Side("a", []*Run{runs[0], scored}), Side("b", runs[2:])}, ErrOptions, "are of the same run"},
		"names":               {[]*Run{Side("a", runs[:2]), Side("a", runs[2:])}, ErrOptions, "two of them have the same name: a, a"},
		"another mode":        {[]*Run{Side("a", []*Run{runs[0], other.open(t)}), Side("b", runs[2:])}, key.ErrIncomparable, "mode differs ("},
		"one side":            {[]*Run{Side("a", runs)}, ErrOptions, "it takes two"},
	} {
		_, err := Compare(c.sides, Options{Resamples: 1})
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSidePasses: where all questions pass in all runs, the interval is that over clusters.
func TestSidePasses(t *testing.T) {
	var all []*Run
	for i := range 3 {
		f := newFile("go", strings.Repeat("p", 12))
		f.StartedAt = f.StartedAt.Add(time.Duration(i) * time.Hour)
		all = append(all, f.open(t))
	}
	c := mustCompare(t, Options{}, Side("old", repeatedly(t, "go", 3, 1)), Side("new", all))
	i := slices.IndexFunc(c.Runs, func(r RunFigures) bool { return r.Name == "new" })
	if within := c.Runs[i].Believed(); within == nil || within.Method != "wilson_clusters" || within.High != 1 || within.Low < .5 {
		t.Errorf("%+v", within)
	}
}

// TestSidesIntersect leaves out what one run of a side does not have.
func TestSidesIntersect(t *testing.T) {
	runs := repeatedly(t, "go", 2, 1)
	short := newFile("go", "pppppp")
	short.StartedAt = short.StartedAt.Add(time.Minute)
	_, err := Compare([]*Run{Side("a", []*Run{runs[0], short.open(t)}), Side("b", runs[1:])}, Options{})
	if refused, ok := errors.AsType[*key.IncomparableError](err); !ok || len(refused.Names) != 3 || refused.Common != 6 {
		t.Fatalf("%v: %+v", err, refused)
	}
	c := mustCompare(t, Options{Intersect: true}, Side("a", []*Run{runs[0], short.open(t)}), Side("b", runs[1:]))
	var left [][]string
	for _, ids := range c.Questions.LeftOut {
		left = append(left, []string{fmt.Sprint(len(ids))})
	}
	if c.Questions.Compared != 6 || !cmp.Equal(left, [][]string{{"6"}, {"6"}}) || c.Pairs[0].N != 6 {
		t.Errorf("%+v", c.Questions)
	}
	for _, r := range c.Runs {
		if r.Counts.Total != 6*max(1, len(r.Files)) || r.Counts.Scored != r.Counts.Total {
			t.Errorf("%+v", r.Counts)
		}
	}
}
