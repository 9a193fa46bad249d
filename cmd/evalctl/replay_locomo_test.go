package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/internal/sharedtest"
)

// The marks around the table of LoCoMo in docs/dev/replays.md.
const (
	locomoBegin = "<!-- locomo: begin -->\n"
	locomoEnd   = "<!-- locomo: end -->\n"
)

// TestReplayLoCoMo measures the table of LoCoMo in docs/dev/replays.md, with the command shown there.
func TestReplayLoCoMo(t *testing.T) {
	switch {
	case !*full && !goldentest.Updating():
		t.Skip("runs with -full or -update")
	case raceDetector:
		t.Skip("ranking is measured without the race detector")
	}
	path := sharedtest.Path(t, "locomo/locomo5.json")
	page := filetest.Read(t, replaysPage)
	before, rest, ok := strings.Cut(string(page), locomoBegin)
	_, after, ended := strings.Cut(rest, locomoEnd)
	if !ok || !ended {
		t.Fatalf("%s has no table of LoCoMo", replaysPage)
	}
	measured := locomoTable(t, path)
	goldentest.Compare(t, replaysPage, before+locomoBegin+measured+locomoEnd+after)
}

// locomoTable replays the file and returns the table.
func locomoTable(t *testing.T, path string) string {
	t.Helper()
	s := newSession(t)
	s.run("evalctl replay --sdk go --without-memory oracle --without-memory no-memory --dataset " + path +
		" --model fake --scorer exact --output locomo --report locomo/report.md")
	var arms []result.Result
	for _, name := range []string{"go", "oracle", "no-memory"} {
		r, err := resultfile.Open(filepath.Join(s.dir, "locomo", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		arms = append(arms, r.Result())
	}
	metrics := []string{"any@10", "all@10", "recall@10", "ndcg@10"}
	var b strings.Builder
	fmt.Fprintf(&b, "| type | n | go | oracle | no-memory | %s |\n|---|---|---|---|---|---|---|---|---|\n", strings.Join(metrics, " | "))
	row := func(name string, n int, rates []*float64, m result.Metrics) {
		fmt.Fprintf(&b, "| %s | %d |", name, n)
		for _, r := range rates {
			fmt.Fprintf(&b, " %.3f |", *r)
		}
		for _, metric := range metrics {
			fmt.Fprintf(&b, " %.3f |", m[metric])
		}
		fmt.Fprintln(&b)
	}
	for i, stratum := range arms[0].Replay.Strata {
		var rates []*float64
		for _, a := range arms {
			rates = append(rates, a.Replay.Strata[i].PassRate)
		}
		row(stratum.Name, stratum.Counts.Total, rates, stratum.Retrieval)
	}
	row("all", arms[0].Total, []*float64{arms[0].PassRate, arms[1].PassRate, arms[2].PassRate}, arms[0].Retrieval.Macro)
	return b.String()
}
