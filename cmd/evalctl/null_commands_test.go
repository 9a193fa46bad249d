package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/board"
	"evalctl/harness/compare"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

// nullRun writes a run in JSON lines of a system whose questions pass with a probability of their own,
// with scores, latencies and tags. Its speed is its own, and its rate by vary, in logits.
func nullRun(t *testing.T, random *rand.Rand, path string, questions []float64, vary float64, tags bool) string {
	better, slower := vary*random.NormFloat64(), math.Exp(0.1*random.NormFloat64())
	var text strings.Builder
	for i, logit := range questions {
		passed := random.Float64() < 1/(1+math.Exp(-logit-better))
		score := 0.5 * random.Float64()
		if passed {
			score += 0.5
		}
		line := map[string]any{
			"id": fmt.Sprintf("q%03d", i), "passed": passed, "score": score,
			"latency_ms": 800 * slower * (0.5 + random.Float64()), "first_delta_ms": 200 * slower * (0.5 + random.Float64()),
		}
		if tags {
			line["tags"] = []string{fmt.Sprintf("type:%d", i%5), fmt.Sprintf("hard:%t", logit < 1)}
		}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(data, '\n'))
	}
	filetest.Write(t, path, text.String())
	return path
}

// comparisonClaims reports whether a comparison says of anything that it differs.
func comparisonClaims(c *compare.Comparison) bool {
	for i := range c.Pairs {
		for _, k := range c.Claims(&c.Pairs[i]) {
			if k.Shown() {
				return true
			}
		}
	}
	for _, tag := range c.Tags {
		for _, p := range tag.Pairs {
			if p.Verdict == compare.Better || p.Verdict == compare.Worse {
				return true
			}
		}
	}
	return false
}

// nullCompare compares two sides of equal runs by the command. Several runs of a side differ by about
// three points of their own, which a single one cannot know.
func nullCompare(runs int, tags bool) func(*testing.T, *rand.Rand, string) bool {
	return func(t *testing.T, random *rand.Rand, dir string) bool {
		questions, vary := make([]float64, 150), 0.0
		if runs > 1 {
			vary = 0.15
		}
		for i := range questions {
			questions[i] = 1 + random.NormFloat64()
		}
		sides := make([]string, 2)
		for s := range sides {
			var files []string
			for k := range runs {
				files = append(files, nullRun(t, random, filepath.Join(dir, fmt.Sprintf("s%d-%d.jsonl", s, k)), questions, vary, tags))
			}
			sides[s] = fmt.Sprintf("s%d=%s", s, strings.Join(files, ","))
		}
		code, out, errs := inProcess(t.Context(), "compare", "--format", "json", "--accept", "dataset,scorer,reader", sides[0], sides[1])
		var c compare.Comparison
		if err := json.Unmarshal([]byte(out), &c); code != 0 || err != nil {
			t.Fatalf("%d, %v: %s", code, err, errs)
		}
		return comparisonClaims(&c)
	}
}

// nullBoard ranks results of four equal systems.
func nullBoard(t *testing.T, random *rand.Rand, dir string) bool {
	for s := range 4 {
		outcomes := make([]byte, 100)
		for i := range outcomes {
			if outcomes[i] = '-'; random.Float64() < 0.7 {
				outcomes[i] = '+'
			}
		}
		f := resulttest.New(fmt.Sprintf("sdk%d", s), time.Date(2026, 3, 1, s, 0, 0, 0, time.UTC), string(outcomes))
		f.Save(t, dir, "2026-03-01", f.SDK+".json")
	}
	code, out, errs := inProcess(t.Context(), "show", "board", dir, "--json")
	var b board.Board
	if err := json.Unmarshal([]byte(out), &b); code != 0 || err != nil || len(b.Groups) != 1 || len(b.Groups[0].Rows) != 4 {
		t.Fatalf("%d, %v: %s\n%s", code, err, errs, out)
	}
	for _, row := range b.Groups[0].Rows {
		if row.Best != 1 || row.Worst != 4 {
			return true
		}
	}
	return false
}

// nullReplay replays a benchmark with two arms of one daemon.
func nullReplay(t *testing.T, _ *rand.Rand, dir string) bool {
	benchmark, err := filepath.Abs(filepath.Join("..", "..", "datasets", "audit", "talks.json"))
	if err != nil {
		t.Fatal(err)
	}
	const daemon = "evalctl serve --addr {addr}"
	cmd := command(t, dir, []string{"replay", "--dataset", benchmark, "--target", "a=" + daemon, "--target", "b=" + daemon,
		"--model", "fake", "--judge", "fake", "--cache", "off", "--output", "arms", "--json", "--quiet"})
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var arms struct {
		Comparison *compare.Comparison `json:"comparison"`
	}
	if err := errors.Join(err, json.Unmarshal([]byte(lines[len(lines)-1]), &arms)); err != nil || arms.Comparison == nil {
		t.Fatalf("%v: %s\n%s", err, stderr(cmd), out)
	}
	return comparisonClaims(arms.Comparison)
}

// TestNullCommands runs whole commands on equal systems and prints how often they claim a difference:
// in at most 5.5 % of tries, and three standard errors more. Every night it tries often.
func TestNullCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for _, tt := range []struct {
		name  string
		tries int
		claim func(*testing.T, *rand.Rand, string) bool
	}{
		{"compare, 1 run a side", longtest.Rounds(20, 400), nullCompare(1, false)},
		{"compare, 1 run a side, tags", longtest.Rounds(20, 400), nullCompare(1, true)},
		{"compare, 3 runs a side", longtest.Rounds(10, 400), nullCompare(3, false)},
		{"compare, 3 runs a side, tags", longtest.Rounds(10, 400), nullCompare(3, true)},
		{"compare, 5 runs a side", longtest.Rounds(10, 400), nullCompare(5, false)},
		{"compare, 5 runs a side, tags", longtest.Rounds(10, 400), nullCompare(5, true)},
		{"board", longtest.Rounds(10, 400), nullBoard},
		{"replay, two equal arms", longtest.Rounds(1, 5), nullReplay},
	} {
		random, claims := rand.New(rand.NewPCG(5, uint64(len(tt.name)))), 0
		for range tt.tries {
			if tt.claim(t, random, t.TempDir()) {
				claims++
			}
		}
		t.Logf("%-30s %3d claims in %d tries", tt.name, claims, tt.tries)
		n := float64(tt.tries)
		if limit := 0.055*n + 3*math.Sqrt(0.055*0.945*n); float64(claims) > limit {
			t.Errorf("%s: %d claims in %d tries, want at most %.0f", tt.name, claims, tt.tries, limit)
		}
	}
}
