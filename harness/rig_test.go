package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/aggregate"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/launch"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/heap"
	"evalctl/scorer"
)

// scripted is a scorer under the test's control.
type scripted func(ctx context.Context, item scorer.Item) (scorer.Verdict, error)

func (scripted) Name() string            { return "exact" }
func (scripted) Check(scorer.Item) error { return nil }
func (s scripted) Score(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
	return s(ctx, item)
}

// writeDataset writes questions "question 1" to "question n", beginning on line 2, and returns the
// file's path.
func writeDataset(tb testing.TB, n int) string {
	tb.Helper()
	var b strings.Builder
	b.WriteString("# written by a test\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `{"id":"q%d","question":"question %d","expected_substrings":["answer %d"],`+
			`"reference_answer":"answer %d","expected_paths":["d%d.md"],"tags":["t%d"]}`+"\n",
			i, i, i, i, i, i%3)
	}
	return filetest.Write(tb, filepath.Join(tb.TempDir(), "questions.jsonl"), b.String())
}

// event is a frame of an event stream.
var event = daemontest.Event

func accept(dataset.Question) error { return nil }

func openDataset(tb testing.TB, path string) dataset.Dataset {
	tb.Helper()
	d, err := dataset.Open(path, dataset.Options{Check: accept})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// identityOf returns a complete identity of a run over d.
func identityOf(d dataset.Dataset) result.Identity {
	return result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Brain: "eval",
		Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
		Dataset: result.DatasetID{
			Path: "questions.jsonl", SHA256: d.SHA256, Selected: d.Planned(),
			Selection: d.Selection, Repeats: d.Repeats, Tags: d.Tags,
		},
		Daemon: result.DaemonID{
			Program: "evalctl", CommandSHA256: strings.Repeat("ef", 32), Version: "1.2.3",
		},
		Tool: result.ToolID{
			Version: "0.1.0", Commit: "abc", Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2,
		},
	}
}

var started = time.Date(2026, 3, 21, 10, 0, 0, 0, time.UTC)

// rig is a run with its journal, and the parts of which its stages are made.
type rig struct {
	Config
	Notes
	Asker     Answerer
	Scorer    scorer.Scorer
	Timeout   time.Duration
	Watched   bool
	Brains    []dataset.Brain
	Recorded  func(result.Record)
	AskingFor func(id string, begin bool)
	Complete  func(*result.Record)
	Journal   *journal.Journal
}

func (r rig) run(ctx context.Context) (result.Result, string, error) {
	return Run(ctx, r.config(), r.Journal)
}

func (r rig) config() Config {
	c := r.Config
	c.Notes, c.Brains = r.Notes, r.Brains
	c.Subject = Subject{Answerer: r.Asker, Timeout: r.Timeout}
	if r.Watched {
		c.Subject.Session = &Session{process: &launch.Daemon{}}
	}
	c.Scorer = completed{pipeline.Grader{Scorer: r.Scorer}, r.Complete}
	c.Observer = observer{r.Recorded, r.AskingFor}
	return c
}

// observer is a pipeline.Observer of functions, each of which may be nil.
type observer struct {
	recorded func(result.Record)
	asking   func(string, bool)
}

func (o observer) Asking(id string, begin bool) {
	if o.asking != nil {
		o.asking(id, begin)
	}
}

func (o observer) Recorded(rec result.Record) {
	if o.recorded != nil {
		o.recorded(rec)
	}
}

// completed is a pipeline.Scorer that changes each record, unless it is nil.
type completed struct {
	pipeline.Scorer
	change func(*result.Record)
}

func (c completed) Score(ctx context.Context, rec result.Record) (result.Record, error) {
	rec, err := c.Scorer.Score(ctx, rec)
	if c.change != nil {
		c.change(&rec)
	}
	return rec, err
}

// setUp prepares a run over d in dir, with the exact scorer and four workers.
func setUp(tb testing.TB, s *daemontest.Daemon, d dataset.Dataset, dir string) rig {
	tb.Helper()
	j, err := journal.Create(dir, identityOf(d), started, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return resumeWith(tb, s, d, j)
}

// resumeWith prepares a run over d that continues j.
func resumeWith(tb testing.TB, s *daemontest.Daemon, d dataset.Dataset, j *journal.Journal) rig {
	tb.Cleanup(func() { _ = j.Close() })
	return rig{
		Journal: j, Asker: targetOf(tb, s), Scorer: scorer.Exact{}, Timeout: questionTime,
		Config: Config{TopK: 5, Dataset: d, Concurrency: 4},
		Notes:  Notes{Settings: result.Settings{Concurrency: 4, TimeoutSeconds: questionTime.Seconds(), Floor: 0.9}},
	}
}

// finish runs to the end and returns the path of the result.
func (r rig) finish(tb testing.TB) (path string) {
	tb.Helper()
	_, path, err := r.run(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// reopened closes the journal of a stopped run and prepares a run that continues it.
func reopened(tb testing.TB, s *daemontest.Daemon, cfg rig) rig {
	tb.Helper()
	if err := cfg.Journal.Close(); err != nil {
		tb.Fatal(err)
	}
	j, err := journal.Open(cfg.Journal.Path())
	if err != nil {
		tb.Fatal(err)
	}
	return resumeWith(tb, s, cfg.Dataset, j)
}

// resultFile is the content of a result file.
type resultFile = resulttest.File

// readResult reads a result file and checks it against the schema and its questions.
func readResult(tb testing.TB, path string) resultFile {
	tb.Helper()
	data := filetest.Read(tb, path)
	if err := resulttest.Validate("result", data); err != nil {
		tb.Fatalf("%s is not valid against the schema: %v\n%s", path, err, data)
	}
	var f resultFile
	if err := json.Unmarshal(data, &f); err != nil {
		tb.Fatal(err)
	}
	sum := aggregate.New(f.Identity.TopK)
	for _, q := range f.Questions {
		sum.Add(q)
	}
	again := result.Result{Identity: f.Identity, Settings: f.Settings}
	sum.Fill(&again)
	sum.Judge(&again)
	if again.Counts != f.Counts || f.Counts.Finished() != len(f.Questions) ||
		f.Total != f.Counts.Total || f.Passed != f.Counts.Passed {
		tb.Errorf("%s: the file's counts are %+v, those of its questions %+v",
			path, f.Counts, again.Counts)
	}
	warnings := cmpopts.IgnoreFields(result.Retrieval{}, "Warnings")
	if diff := cmp.Diff(again.Retrieval, f.Retrieval, warnings); diff != "" {
		tb.Errorf("%s: the file's retrieval differs from that of its questions:\n%s", path, diff)
	}
	return f
}

func encodeJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// playRun evaluates the daemon at URL on DATASET and writes to DIR.
func playRun() error {
	defer heap.HoldSpare()()
	d, err := dataset.Open(os.Getenv("DATASET"), dataset.Options{Check: accept})
	if err != nil {
		return err
	}
	e, err := target.NewEndpoint(os.Getenv("URL"), "", "evalctl-test", 16)
	if err != nil {
		return err
	}
	j, err := journal.Create(os.Getenv("DIR"), identityOf(d), started, nil)
	if err != nil {
		return err
	}
	fmt.Println(j.Path())
	_, _, err = rig{
		Journal: j, Asker: askBasic(e), Scorer: scorer.Exact{}, Timeout: time.Minute,
		Config: Config{TopK: 5, Dataset: d, Concurrency: 16},
		Notes:  Notes{Settings: result.Settings{Concurrency: 16, TimeoutSeconds: 60, Floor: 0.9}},
	}.run(context.Background())
	return err
}

// questionTime is more than any test's question needs.
const questionTime = 2 * time.Minute

func endpointOf(tb testing.TB, s *daemontest.Daemon) *target.Endpoint {
	tb.Helper()
	e, err := target.NewEndpoint(s.URL, "", "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

func targetOf(tb testing.TB, s *daemontest.Daemon) *target.Target {
	return askBasic(endpointOf(tb, s))
}

func askBasic(e *target.Endpoint) *target.Target {
	return &target.Target{
		Service: e, Brains: map[string]string{"": "eval"},
		Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
	}
}

func targetIn(a Answerer) *target.Target { return a.(*target.Target) }

// rankingOf is result.CompareWithGold with the documents of a brain.
func rankingOf(
	gold scorer.Ranking, chunks []result.Chunk, topK int, known *dataset.Paths,
) *result.QuestionRetrieval {
	return result.CompareWithGold(gold, chunks, topK, func(c result.Chunk) []string {
		return known.Documents(c, gold)
	})
}
