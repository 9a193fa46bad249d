package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
)

// TestMemoryEffects: a memory is compared with every baseline, in one direction whatever their pass
// rates are, and with the oracle in the other. What is said there is not said again.
func TestMemoryEffects(t *testing.T) {
	verdicts := map[string]string{
		"go":             "ffffffppppppppppppppffffpppppp", // 20 of 30
		"no-memory":      "fffffffffffffffffffffffffppppp", // 5
		"random-session": "fffffffffffffffffffffffppppppp", // 7
		"full-context":   "ppppffppppppppppppppffffpppppp", // 24
		"oracle":         "pppppppppppppppppppppppppppppp", // 30
	}
	files := []*file{arm("go", "bm25", verdicts["go"])}
	for _, s := range []result.Scenario{result.Oracle, result.FullContext, result.NoMemory, result.RandomSession} {
		files = append(files, baselineArm(s, verdicts[string(s)]))
	}
	c := OfArms(armsOf(t, files...), few)
	if c.Comparison == nil {
		t.Fatal(c.Sentences())
	}
	want := []struct {
		baseline result.Scenario
		passed   int // by which the pass counts differ
		verdict  Verdict
		sentence string
	}{
		{result.NoMemory, 15, Better, "What memory adds over no memory: go +50.0 pp ("},
		{result.RandomSession, 13, Better, "What memory adds over sessions drawn at random: go +43.3 pp ("},
		{result.FullContext, -4, NotSeen, "What memory adds over the whole context: go -13.3 pp ("},
		{result.Oracle, 10, Better, "What is left to the oracle: go +33.3 pp ("},
	}
	effects, lead := c.Comparison.Memory, c.Lead()
	if len(effects) != len(want) || len(lead) != len(want) {
		t.Fatalf("%+v\n%s", effects, strings.Join(lead, "\n"))
	}
	for i, w := range want {
		e := effects[i]
		if e.Baseline != w.baseline || math.Abs(*e.Difference-float64(w.passed)/30) > 1e-9 || e.Verdict != w.verdict || e.N != 30 ||
			!(e.Interval.Low < *e.Difference && *e.Difference < e.Interval.High) || e.Interval.Method != "newcombe_paired" ||
			c.Comparison.Runs[e.Run].Name != "go" || c.Comparison.Runs[e.Reference].Name != string(w.baseline) {
			t.Errorf("%+v, interval %+v", e, e.Interval)
		}
		if !strings.HasPrefix(lead[i], w.sentence) || !strings.HasSuffix(lead[i], effectWords[w.verdict]+".") {
			t.Errorf("got %q", lead[i])
		}
	}
	for _, s := range c.Others() {
		if strings.Contains(s, "go and ") || strings.Contains(s, " and go:") || strings.Contains(s, "than go") || strings.HasPrefix(s, "go passes") {
			t.Errorf("said twice: %q", s)
		}
	}
	if others := strings.Join(c.Others(), "\n"); strings.Contains(others, "no-memory") || c.Comparison.Tests != len(want) {
		t.Errorf("%d tests, of baselines with each other too:\n%s", c.Comparison.Tests, others)
	}
}

// TestSeveralMemories: each memory is a part of the sentence, and two daemons without a baseline have
// none.
func TestSeveralMemories(t *testing.T) {
	files := []*file{arm("go", "bm25", passing), arm("py", "bm25", failing), baselineArm(result.NoMemory, failing)}
	lead := OfArms(armsOf(t, files...), few).Lead()
	if len(lead) != 1 || !strings.Contains(lead[0], ": go +50.0 pp ") || !strings.Contains(lead[0], "; py +0.0 pp (95% interval -9.0 to +9.0)") {
		t.Errorf("%q", lead)
	}
	c := OfArms(armsOf(t, files[:2]...), few)
	if len(c.Lead()) > 0 || c.Comparison.Memory == nil || len(c.Comparison.Memory) > 0 || len(c.Others()) == 0 {
		t.Errorf("%q, %+v", c.Sentences(), c.Comparison.Memory)
	}
}

// TestNothingToFind: a memory that answers as its baselines do adds nothing and leaves nothing, also
// if everything passes, or nothing.
func TestNothingToFind(t *testing.T) {
	for _, verdicts := range []string{"ppffpfpffppffpfpfpfp", passing, strings.Repeat("f", 20), strings.Repeat("p", 20)} {
		files := []*file{arm("go", "bm25", verdicts)}
		for _, s := range result.Baselines {
			files = append(files, baselineArm(s, verdicts))
		}
		for _, tag := range []string{"", "conv"} {
			c := mustCompare(t, Options{ClusterTag: tag, Resamples: 1000}, openAll(t, files)...)
			if len(c.Memory) != len(result.Baselines) {
				t.Fatalf("%+v", c.Memory)
			}
			for _, e := range c.Memory {
				if *e.Difference != 0 || math.Signbit(*e.Difference) || e.Verdict != NotSeen {
					t.Errorf("%s: %+v", verdicts, e)
				}
				if i := e.Interval; tag == "" && !(i.Low < 0 && 0 < i.High) {
					t.Errorf("%s: the interval %+v does not cover 0", verdicts, i)
				}
			}
			for _, s := range c.MemorySentences() {
				if !strings.Contains(s, ": go +0.0 pp") || !strings.HasSuffix(s, ", not shown to differ from 0.") {
					t.Errorf("got %q", s)
				}
			}
		}
	}
}

func openAll(t *testing.T, files []*file) (runs []*Run) {
	for _, f := range files {
		runs = append(runs, f.open(t))
	}
	return runs
}

// TestMemoryInClusters: with clusters, the interval and the test are those of the clusters, and the
// interval of the opposite difference is the opposite one.
func TestMemoryInClusters(t *testing.T) {
	memory := strings.Repeat("pppff", 10)                                       // ten conversations
	oracle := strings.Repeat("ppppp", 4) + strings.Repeat("pppff", 5) + "ppppf" // better in five
	none := strings.Repeat("pppff", 5) + strings.Repeat("pffff", 4) + "ppfff"   // worse in five
	c := mustCompare(t, Options{ClusterTag: "conv"}, openAll(t, []*file{
		arm("go", "bm25", memory), baselineArm(result.Oracle, oracle), baselineArm(result.NoMemory, none),
	})...)
	independent := mustCompare(t, few, openAll(t, []*file{
		arm("go", "bm25", memory), baselineArm(result.Oracle, oracle), baselineArm(result.NoMemory, none),
	})...)
	for i, e := range c.Memory {
		if e.Clusters != 10 || e.Interval == nil || e.Interval.Method != "sign_flip_clusters" ||
			*e.Difference <= 0 || e.Interval.High <= *e.Difference || *e.P != 0.0625 || e.Verdict != NotSeen {
			t.Errorf("%+v, %+v", e, e.Interval)
		}
		if other := independent.Memory[i]; *other.Difference != *e.Difference || *other.P >= *e.P {
			t.Errorf("independent questions: %+v", other)
		}
	}
}

// TestClustersByBrain: questions that were asked in one brain are a cluster as those with a tag are,
// also those of a baseline, which has no brains. Another run with other brains changes nothing.
func TestClustersByBrain(t *testing.T) {
	files := func(brain bool) []*file {
		memory, none := strings.Repeat("pppff", 10), strings.Repeat("pppff", 4)+strings.Repeat("pffff", 6)
		out := []*file{baselineArm(result.NoMemory, none), arm("go", "bm25", memory), baselineArm(result.Oracle, strings.Repeat("p", 50))}
		for _, f := range out {
			for i := range f.Questions {
				if brain && f.SDK == "go" {
					f.Questions[i].Brain = strings.TrimPrefix(f.Questions[i].Tags[0], "conv:")
				}
				if brain {
					f.Questions[i].Tags = nil
				}
			}
		}
		return out
	}
	byTag := mustCompare(t, Options{ClusterTag: "conv"}, openAll(t, files(false))...)
	byBrain := mustCompare(t, Options{ClusterTag: result.ByBrain}, openAll(t, files(true))...)
	if diff := cmp.Diff(byTag.Memory, byBrain.Memory); diff != "" || byBrain.Memory[0].Clusters != 10 {
		t.Errorf("%+v\n%s", byBrain.Memory, diff)
	}
	if _, err := Compare(openAll(t, files(false)), Options{ClusterTag: result.ByBrain}); !errors.Is(err, ErrOptions) {
		t.Errorf("without brains: %v", err)
	}
}

// TestMemoryCoverage: if a memory and its baseline pass each question with the same probability, the
// interval of what memory adds covers 0 in at least 93.5 % of replays, and a difference is shown in
// at most 5 %.
func TestMemoryCoverage(t *testing.T) {
	const replays, questions = 1000, 60
	random := rand.New(rand.NewPCG(7, 11))
	covered, shown := 0, 0
	for range replays {
		var r contrast
		for range questions {
			p := random.Float64() // some questions are hard for both
			for _, to := range []*[]float64{&r.run, &r.reference} {
				passed := 0.0
				if random.Float64() < p {
					passed = 1
				}
				*to = append(*to, passed)
			}
		}
		pair := &Pair{Reference: 0, Run: 1, Table: r.table()}
		f := &families{measures: []string{passRate}}
		f.add(pair, passRate, pair.P, pair.judge(r))
		f.judge()
		e := effectOf(pair, 1, 0, result.NoMemory, random.Float64() < 0.5)
		if e.Interval.Low <= 0 && 0 <= e.Interval.High {
			covered++
		}
		if e.Verdict != NotSeen {
			shown++
		}
	}
	if covered < replays*935/1000 || shown > replays*5/100 {
		t.Errorf("covered %d and shown %d of %d", covered, shown, replays)
	}
}

// TestCutContext names the baseline full-context by what its reader was given.
func TestCutContext(t *testing.T) {
	cut := baselineArm(result.FullContext, "ppppffppppppppppppppffffpppppp")
	cut.Replay.Context = &result.ContextUse{Tokens: 128_000, Sessions: 330, LeftOut: 250, Cut: 30}
	c := OfArms(armsOf(t, arm("go", "bm25", "ffffffffffpppppppppppppppppppp"), cut), few)
	want := "What memory adds over the last 128k tokens (250 of 330 sessions left out): go -13.3 pp ("
	if lead := c.Lead(); len(lead) != 1 || !strings.HasPrefix(lead[0], want) {
		t.Errorf("got %q", lead)
	}
}
