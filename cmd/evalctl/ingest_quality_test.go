package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/internal/sharedtest"
	"evalctl/replay/ingest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

const (
	replaysPage = "../../docs/dev/replays.md"
	ingestBegin = "<!-- ingest modes: begin -->\n"
	ingestEnd   = "<!-- ingest modes: end -->\n"
	// mostLost is how much lower any@10 may be in the mode replay than in the mode bulk.
	mostLost = .02
)

// ingestColumns lists the metrics of the table.
var ingestColumns = []string{"any@1", "any@5", "any@10", "all@10", "recall@10", "mrr", "ndcg@10"}

// TestIngestModes measures what is retrieved of haystacks that were written as documents, and of
// the same haystacks that were replayed message by message, with facts extracted. Replayed sessions
// must not be found less often.
func TestIngestModes(t *testing.T) {
	switch {
	case !*full && !goldentest.Updating():
		t.Skip("runs with -full or -update")
	case raceDetector:
		t.Skip("ranking is measured without the race detector")
	}
	table := map[string]result.Metrics{}
	rows := []string{}
	for _, file := range []string{"locomo/locomo5.json", "longmemeval/longmemeval_s_3.json"} {
		path := sharedtest.Path(t, file)
		e := serveForIngest(t)
		for _, m := range []ingest.Mode{ingest.Bulk, ingest.Replay} {
			row := fmt.Sprintf("| %s | %s |", strings.TrimSuffix(filepath.Base(file), ".json"), m)
			rows = append(rows, row)
			table[row] = measureIngest(t, e, path, m)
		}
		bulk, replay := table[rows[len(rows)-2]]["any@10"], table[rows[len(rows)-1]]["any@10"]
		if replay < bulk-mostLost {
			t.Errorf("%s: any@10 is %.4f replayed and %.4f in bulk", file, replay, bulk)
		}
	}
	if goldentest.Updating() {
		writeIngestModes(t, rows, table)
	}
	compareIngestModes(t, table)
}

// serveForIngest starts a daemon process with the fake model.
func serveForIngest(t *testing.T) *target.Endpoint {
	t.Helper()
	url, _ := serveProcess(t, nil, "--home", t.TempDir(), "--llm-provider", "fake")
	e, err := target.NewEndpoint(url, "", "evalctl-test", 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// measureIngest fills brains with all haystacks of a file and returns the retrieval metrics of its
// questions at top-k 10.
func measureIngest(t *testing.T, e *target.Endpoint, path string, m ingest.Mode) result.Metrics {
	t.Helper()
	b, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var ids []string
	for _, info := range b.Infos() {
		ids = append(ids, info.ID)
	}
	filled, err := ingest.Fill(t.Context(), ingest.Config{
		Service: e, Dialect: result.Auto, Mode: m, Concurrency: 4,
	}, b, ids)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %s: %d sessions in %.2f s", filepath.Base(path), m, filled.Report.Sessions, filled.Report.Seconds)
	var questions []dataset.Question
	for _, q := range b.Questions {
		questions = append(questions, q.Dataset())
	}
	d, err := dataset.FromQuestions(path, b.SHA256, questions)
	if err != nil {
		t.Fatal(err)
	}
	const topK = 10
	res, err := harness.Drive(t.Context(), harness.Config{
		Subject: harness.Subject{
			Target: &target.Target{
				Service: e, Brains: filled.Brains, Scenario: result.SearchOnly, Mode: "auto", TopK: topK,
				Dialect: result.Auto,
			},
			Documents: filled, Timeout: time.Minute,
		},
		TopK: topK, Dataset: d, Scorer: pipeline.Grader{Scorer: scorer.Retrieval{TopK: topK}}, Concurrency: 4,
	}, result.Identity{SDK: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Retrieval.Errors > 0 || filled.Err() != nil {
		t.Fatalf("%d errors, %v", res.Retrieval.Errors, filled.Err())
	}
	return res.Retrieval.Macro
}

func writeIngestModes(t *testing.T, rows []string, table map[string]result.Metrics) {
	t.Helper()
	var text strings.Builder
	text.WriteString("| file | mode | " + strings.Join(ingestColumns, " | ") + " |\n" +
		strings.Repeat("|---", len(ingestColumns)+2) + "|\n")
	for _, row := range rows {
		text.WriteString(row)
		for _, column := range ingestColumns {
			fmt.Fprintf(&text, " %.3f |", table[row][column])
		}
		text.WriteString("\n")
	}
	page := filetest.Read(t, replaysPage)
	before, rest, _ := strings.Cut(string(page), ingestBegin)
	_, after, ok := strings.Cut(rest, ingestEnd)
	if !ok {
		t.Fatalf("%s has no markers for the table", replaysPage)
	}
	page = []byte(before + ingestBegin + text.String() + ingestEnd + after)
	filetest.Write(t, replaysPage, page)
}

// compareIngestModes compares the metrics with the page, as compareQuality does.
func compareIngestModes(t *testing.T, table map[string]result.Metrics) {
	t.Helper()
	page := filetest.Read(t, replaysPage)
	for row, figures := range table {
		_, rest, _ := strings.Cut(string(page), row)
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(strings.Trim(line, "| "), "|")
		for i, column := range ingestColumns {
			shown := math.NaN()
			if i < len(cells) {
				shown, _ = strconv.ParseFloat(strings.TrimSpace(cells[i]), 64)
			}
			if math.IsNaN(shown) || math.Abs(shown-figures[column]) > .0015 {
				t.Errorf("%s %s shows %v for %s, measured %.4f: run with -update",
					replaysPage, row, shown, column, figures[column])
			}
		}
	}
}
