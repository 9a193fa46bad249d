package compare

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

// arm returns the result of an arm of a replay with these verdicts, in which this mode ran.
func arm(name, mode, verdicts string) *file {
	f := newFile(name, verdicts)
	f.Identity.Scenario, f.EffectiveModes = result.RetrieveOnly, map[string]int{mode: len(verdicts)}
	f.Identity.Replay = &result.ReplayID{Ingest: "bulk", Actor: result.Actor{Style: "retrieve-only", Provider: "openai", Model: "m"}}
	f.Replay = &result.Replay{Arm: name, Ingest: &result.Ingest{Mode: "bulk", Brains: 2, Seconds: 1.5}}
	for i := range f.Questions {
		f.Questions[i].ExpectedPaths = []string{"s.md"}
		f.Questions[i].Retrieval = &result.QuestionRetrieval{Recall: *f.Questions[i].Score}
	}
	return f
}

// baselineArm returns the result of a baseline.
func baselineArm(scenario result.Scenario, verdicts string) *file {
	f := newFile(string(scenario), verdicts)
	f.Identity.Scenario, f.EffectiveModes, f.Fusions = scenario, nil, nil
	f.Identity.Replay = &result.ReplayID{Actor: result.Actor{Style: string(scenario), Provider: "openai", Model: "m"}}
	f.Replay = &result.Replay{Arm: f.SDK}
	return f
}

// armsOf writes the results and returns the arms.
func armsOf(t *testing.T, files ...*file) (arms []Arm) {
	t.Helper()
	for _, f := range files {
		arms = append(arms, Arm{Name: f.SDK, Path: f.write(t, filepath.Join(t.TempDir(), f.SDK+".json"))})
	}
	return arms
}

// few are options with which a comparison takes less time.
var few = Options{Resamples: 1000}

const (
	passing = "pppppppppppppppppppp"
	failing = "ffffffffffpppppppppp"
)

func TestArmsOfDifferentModes(t *testing.T) {
	arms := armsOf(t, arm("ts", "bm25", failing), arm("go", "bm25", passing), arm("py", "hybrid", passing))
	c := OfArms(arms, few)
	if c.Comparison != nil || c.Refused == nil {
		t.Fatalf("compared: %+v", c)
	}
	all := strings.Join(c.Sentences(), "\n")
	if first := c.Sentences()[0]; first != "Not comparable: effective_modes differs (ts bm25, go bm25, py hybrid); no ranking. "+
		"With --accept effective_modes they are compared all the same: by evalctl compare, of the result files, or by evalctl replay." {
		t.Errorf("first line %q", first)
	}
	for _, not := range []string{" pp", " p ", "passes"} {
		if strings.Contains(all, not) {
			t.Errorf("%q is in:\n%s", not, all)
		}
	}

	c = OfArms(arms, Options{Resamples: 1000, Accept: []string{"effective_modes"}})
	if c.Comparison == nil {
		t.Fatalf("not compared: %q", c.Sentences())
	}
	want := []string{
		"Accepted, and what follows may come from it: effective_modes differs (go bm25, py hybrid, ts bm25).",
		"ts passes fewer questions than go: -50.0 pp (98.3% interval -73.6 to -17.6), p 0.006 adjusted over 3 tests, over 20 questions.",
	}
	got := c.Sentences()
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("line %d: want %q, got\n%s", i+1, w, strings.Join(got, "\n"))
		}
	}
	for _, w := range []string{
		"ts against go: recall is worse, -0.500 (99.6% interval -0.857 to -0.125), p 0.023 adjusted; no difference of ndcg, reciprocal rank, average precision is shown.",
		"No difference of the pass rate is shown. py and go: +0.0 pp (95% interval -16.1 to +16.1), p 1 adjusted over 3 tests, over 20 questions.",
		"py against go: no difference of recall, ndcg, reciprocal rank, average precision is shown.",
	} {
		if !slices.Contains(got, w) {
			t.Errorf("%q is missing in:\n%s", w, strings.Join(got, "\n"))
		}
	}
	if !slices.Contains(got, "They differ in the mode that ran: ts bm25, go bm25, py hybrid.") {
		t.Errorf("the arms are not in the order given: %q", got)
	}
}

// TestBaselinesAreComparable checks that a baseline, which has no mode and no gold documents, is
// compared with daemons, and that daemons are refused as without it.
func TestBaselinesAreComparable(t *testing.T) {
	files := []*file{arm("go", "bm25", failing), baselineArm(result.Oracle, passing), baselineArm(result.NoMemory, failing)}
	c := OfArms(armsOf(t, files...), few)
	if c.Comparison == nil || len(c.Comparison.Pairs) != 3 || c.Comparison.Pairs[0].Verdict != Worse {
		t.Fatalf("%q", c.Sentences())
	}
	if k := c.Comparison.Key("effective_modes"); k.Common() != "bm25" || k.State != key.Same {
		t.Errorf("effective_modes %+v", k)
	}
	other := arm("ts", "hybrid", failing)
	other.Questions[3].ExpectedPaths = []string{"other.md"}
	c = OfArms(armsOf(t, append(files, other)...), few)
	if c.Refused == nil || !slices.Equal(c.Refused.Differing, []string{"gold_documents", "effective_modes"}) {
		t.Errorf("%q", c.Sentences())
	}
	if got := OfArms(armsOf(t, files[0], reread(files[1])), few); got.Refused == nil ||
		!slices.Equal(got.Refused.Differing, []string{"reader"}) {
		t.Errorf("another reader: %q", got.Sentences())
	}
}

// reread changes the model that writes the answers.
func reread(f *file) *file {
	f.Identity.Replay.Actor.Model = "other"
	return f
}

func TestArmsThatAreNotCompared(t *testing.T) {
	stopped := arm("py", "bm25", failing)
	stopped.Stopped, stopped.Planned = result.StopDaemon, 83
	a, b := arm("ts", "bm25", failing), arm("go", "bm25", passing)
	c := OfArms(append(armsOf(t, a, stopped, b), Arm{Name: "oracle"}), few)
	if c.Comparison == nil || len(c.Comparison.Runs) != 2 {
		t.Fatalf("%q", c.Sentences())
	}
	want := []string{"py is not compared: it stopped (daemon_died) after 20 of 83 questions.", "oracle is not compared: it has no result."}
	if !slices.Equal(c.NotCompared, want) {
		t.Errorf("%q", c.NotCompared)
	}
	c = OfArms(armsOf(t, a, stopped), few)
	if all := strings.Join(c.Sentences(), "\n"); c.Comparison != nil || !strings.Contains(all, "fewer than two arms finished") {
		t.Errorf("%q", all)
	}
	if c = OfArms(armsOf(t, a), few); len(c.Sentences()) > 0 {
		t.Errorf("one arm: %q", c.Sentences())
	}
}

func TestFacts(t *testing.T) {
	a, b := arm("ts", "bm25", failing), arm("go", "bm25", passing)
	a.Replay.Daemon = &result.DaemonSeen{
		Dialects: []result.Dialect{result.Camel}, PeakRSSBytes: 3 << 19,
	}
	a.Replay.ModelRequests = &result.ModelRequests{Embeddings: result.RequestCount{Made: 12, Failed: 3}}
	b.Replay.ModelRequests = &result.ModelRequests{}
	b.Replay.Ingest.Reused = 2
	lines := strings.Join(OfArms(armsOf(t, a, b, baselineArm(result.Oracle, passing)), few).Sentences(), "\n")
	for _, want := range []string{
		"They differ in embedding calls: ts 12 (3 failed), go 0 (0 failed).",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "version") || strings.Contains(lines, "ingest time") || strings.Contains(lines, "peak memory") {
		t.Errorf("the version is the same, and figures of single runs do not make a difference:\n%s", lines)
	}
}
