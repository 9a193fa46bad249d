package lifecycle_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/launch"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
	"evalctl/scorer"
)

// launched are the roles of the test binary as another process, by its first argument.
var launched = map[string]func(args []string) error{
	"role:daemon":   playDaemon,
	"role:watchdog": func([]string) error { return launch.Watchdog(os.Stdin, os.Stdout) },
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && launched[os.Args[1]] != nil {
		if err := launched[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	longtest.Parallel(7) // a restart of a daemon waits more than it computes
	longtest.TempInMemory()
	goleak.VerifyTestMain(m)
}

// records is an Observer that collects.
type records struct {
	mu  sync.Mutex
	all []result.Record
}

func (*records) Asking(string, bool) {}
func (r *records) Recorded(rec result.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
}

// open starts a daemon with a fault.
func open(t *testing.T, fault string) *harness.Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	session, err := harness.Open(t.Context(), harness.SessionConfig{
		UserAgent: "test", Concurrency: 4,
		Profile: launch.Profile{Command: []string{self, "role:daemon", "{addr}", "{home}", fault}},
		Launch:  launch.Options{Watchdog: []string{self, "role:watchdog"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// measure asks the questions of a dataset and returns their records by id and repeat.
func measure(t *testing.T, session *harness.Session, d dataset.Dataset) map[string]result.Record {
	t.Helper()
	ctx, stop := session.Watch(t.Context())
	defer stop()
	var seen records
	if _, err := harness.Drive(ctx, configOf(t, session, d, &seen), result.Identity{Scenario: result.AskBasic}); err != nil {
		t.Fatal(err)
	}
	return seen.byID()
}

// configOf returns a run of the questions of a dataset.
func configOf(t *testing.T, session *harness.Session, d dataset.Dataset, seen pipeline.Observer) harness.Config {
	t.Helper()
	brains, err := d.Brains(nil)
	if err != nil {
		t.Fatal(err)
	}
	return harness.Config{
		Dataset: d, Brains: brains, TopK: 5, Concurrency: 4, Observer: seen, Scorer: pipeline.Grader{Scorer: scorer.Exact{}},
		Subject: harness.Subject{
			Session: session, Timeout: time.Minute, Settle: 100 * time.Millisecond,
			Target: &target.Target{
				Service: session.Service(), Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
			},
		},
	}
}

// byID returns the records by id and repeat.
func (r *records) byID() map[string]result.Record {
	out := map[string]result.Record{}
	for _, rec := range r.all {
		key := rec.ID
		if rec.Repeat > 1 {
			key = fmt.Sprintf("%s #%d", rec.ID, rec.Repeat)
		}
		out[key] = rec
	}
	return out
}

// read opens a dataset.
func read(t *testing.T, path string, o dataset.Options) dataset.Dataset {
	t.Helper()
	o.Naming = dataset.BrainNaming{Default: "eval"}
	d, err := dataset.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// written is read for a dataset of these lines.
func written(t *testing.T, o dataset.Options, lines ...string) dataset.Dataset {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), strings.Join(lines, "\n"))
	return read(t, path, o)
}

const lifecycleQuestions = "../../datasets/lifecycle.jsonl"

// some returns every third question of each family.
func some(t *testing.T) dataset.Dataset {
	var ids []string
	for q, err := range read(t, lifecycleQuestions, dataset.Options{}).Questions() {
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscanf(q.ID[strings.LastIndex(q.ID, "-")+1:], "%d", &n); err != nil {
			t.Fatal(err)
		}
		if n%3 == 1 && len(q.Tags) == 1 { // TestCrossings has the others
			ids = append(ids, q.ID)
		}
	}
	return read(t, lifecycleQuestions, dataset.Options{Selection: dataset.Selection{IDs: ids}})
}

// TestFaultsFailTheirFamily checks that a fault of a daemon fails the questions that are about it, and
// changes no other.
func TestFaultsFailTheirFamily(t *testing.T) {
	d := some(t)
	found := map[string]map[string]result.Record{} // by fault
	var mu sync.Mutex
	families := []string{"freshness", "deletion", "isolation", "durability", "provenance", "abstention"}
	t.Run("ask", func(t *testing.T) {
		for _, fault := range append([]string{"no fault"}, families...) {
			t.Run(fault, func(t *testing.T) {
				t.Parallel()
				records := measure(t, open(t, fault), d)
				mu.Lock()
				defer mu.Unlock()
				found[fault] = records
			})
		}
	})
	sound := found["no fault"]
	if len(sound) == 0 {
		t.Fatal("no question was asked without a fault")
	}
	for _, r := range sound {
		if !r.Passed {
			t.Errorf("without a fault: %s: %s", r.ID, cmp.Or(r.Reason, fmt.Sprint(r.Error)))
		}
	}
	for _, family := range families {
		own, failed := 0, 0
		for id, r := range found[family] {
			if r.Tags[0] != family {
				if r.Passed != sound[id].Passed || r.Outcome != sound[id].Outcome {
					t.Errorf("%s: %s (%s) is %s now: %s", family, id, r.Tags[0], r.Outcome, cmp.Or(r.Reason, fmt.Sprint(r.Error)))
				}
				continue
			}
			if own++; !r.Passed {
				failed++
			} else {
				t.Logf("%s: %s passes nevertheless", family, id)
			}
		}
		t.Logf("%s: %d of %d fail", family, failed, own)
		if own == 0 || 10*failed < 6*own {
			t.Errorf("%s: only %d of %d questions of the family fail", family, failed, own)
		}
	}
}

// TestLeaksHavePlaces checks where deleted and forbidden texts are found.
func TestLeaksHavePlaces(t *testing.T) {
	const question = `{"id":"q","question":"Which codes are there?","brain":"b","expected_substrings":["9922"],"forbidden":["4711"],` +
		`"before":[{"op":"put","path":"gate.md","text":"The gate has one of the codes, 4711."},` +
		`{"op":"put","path":"lock.md","text":"The lock has one of the codes, 9922."},{"op":"delete","path":"gate.md"}]}`
	d := written(t, dataset.Options{}, question)
	places := func(fault string) map[result.Place]bool {
		r := measure(t, open(t, fault), d)["q"]
		if r.Outcome != result.Scored || *r.Score != 0 || r.Passed || r.Reason == "" {
			t.Errorf("%s: %s, score %v, reason %q", fault, r.Outcome, r.Score, r.Reason)
		}
		found := map[result.Place]bool{}
		for _, l := range r.Leaks {
			found[l.Place] = true
		}
		return found
	}
	if got := places("deletion"); !got[result.InAnswer] || !got[result.InChunk] || !got[result.InQuote] {
		t.Errorf("what is not deleted came back in %v", got)
	}
	if got := places("event leaks"); len(got) != 1 || !got[result.InEvent] {
		t.Errorf("an event came back in %v", got)
	}
}

// TestWhatATargetLacks checks that operations that a target lacks are neither failures nor errors.
func TestWhatATargetLacks(t *testing.T) {
	const put = `{"op":"put","path":"a.md","text":"The tower has 212 steps."}`
	line := func(id, op string) string {
		return `{"id":"` + id + `","question":"How many steps has the tower?","brain":"` + id + `","expected_substrings":["212"],` +
			`"before":[` + put + op + `]}`
	}
	d := written(t, dataset.Options{}, line("plain", ""), line("renamed", `,{"op":"rename","path":"a.md","to":"b.md"}`),
		line("talk", `,{"op":"message","session":"s","text":"hello"}`), line("restarted", `,{"op":"restart"}`))
	started := open(t, "operations")
	session, err := harness.Open(t.Context(), harness.SessionConfig{ // which does not own the process
		Endpoint: started.Service().URL(), UserAgent: "test", Concurrency: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got := measure(t, session, d)
	for id, want := range map[string]result.Outcome{
		"plain": result.Scored, "renamed": result.NotMeasurable, "talk": result.NotMeasurable, "restarted": result.NotMeasurable,
	} {
		if r := got[id]; r.Outcome != want || r.Passed != (id == "plain") || (r.Reason == "") != false {
			t.Errorf("%s: %s, passed %v: %s", id, r.Outcome, r.Passed, r.Reason)
		}
	}
}

// TestOrderOfSharedBrains checks that a brain has seen what comes before a question in the file, and
// nothing else, in whichever order and however often questions are asked.
func TestOrderOfSharedBrains(t *testing.T) {
	lines := stepsOfOneBrain()
	session := open(t, "no fault")
	for name, o := range map[string]dataset.Options{
		"in order":   {Repeats: 2},
		"shuffled":   {Selection: dataset.Selection{Shuffle: true, Seed: 7}, Repeats: 2},
		"some":       {Selection: dataset.Selection{IDs: []string{"q1", "q6"}}},
		"on its own": {Isolated: true, Selection: dataset.Selection{IDs: []string{"q0", "q3", "q5"}}},
	} {
		d := written(t, o, lines...)
		got := measure(t, session, d)
		if len(got) != d.Planned() {
			t.Errorf("%s: %d of %d questions", name, len(got), d.Planned())
		}
		for _, id := range slices.Sorted(maps.Keys(got)) {
			if r := got[id]; !r.Passed {
				t.Errorf("%s: %s: %s %v", name, id, r.Reason, r.Error)
			}
		}
	}
}

// stepsOfOneBrain returns questions that replace the same document, one after the other.
func stepsOfOneBrain() []string {
	var lines []string
	for i := range 6 {
		before := `{"op":"put","path":"fare.md","text":"The fare is step` + fmt.Sprint(i) + ` now."}`
		before += fmt.Sprintf(`,{"op":"put","path":"extra%d.md","text":"The note is extra%d."}`, i, i)
		if i == 1 { // before TestResume stops the run: a session whose restart was interrupted has no daemon
			before += `,{"op":"restart"}`
		}
		forbidden := []string{}
		for j := range 6 {
			if j != i {
				forbidden = append(forbidden, fmt.Sprintf("%q", fmt.Sprintf("step%d", j)))
			}
			if j > i { // it is written later
				forbidden = append(forbidden, fmt.Sprintf("%q", fmt.Sprintf("extra%d.", j)))
			}
		}
		lines = append(lines, fmt.Sprintf(`{"id":"q%d","question":"What is the fare?","brain":"b","expected_substrings":["step%d"],`+
			`"forbidden":[%s],"before":[%s]}`, i, i, strings.Join(forbidden, ","), before))
	}
	return append(lines, `{"id":"q6","question":"What is the note?","brain":"b","expected_substrings":["extra0"]}`)
}

// TestResume checks that a run that was interrupted goes on with brains that have seen what the
// finished questions wrote.
func TestResume(t *testing.T) {
	session := open(t, "no fault")
	d := written(t, dataset.Options{}, stepsOfOneBrain()...)
	j, err := journal.Create(t.TempDir(), result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Brain: "b", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
		Dataset: result.DatasetID{Path: d.Path, SHA256: d.SHA256, Selected: d.Planned()},
	}, time.Now().UTC(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ctx, cancel := context.WithCancel(t.Context())
	config := configOf(t, session, d, &stopping{after: 2, stop: cancel})
	if _, _, err = harness.Run(ctx, config, j); err == nil || j.Finished() == 0 || j.Finished() == d.Planned() {
		t.Fatalf("%d questions finished, %v", j.Finished(), err)
	}
	before := j.Finished()
	var seen records
	res, _, err := harness.Run(t.Context(), configOf(t, session, d, &seen), j)
	if err != nil || res.Resumed != before || res.Passed != d.Planned() {
		t.Errorf("%d resumed, %d of %d passed, %v", res.Resumed, res.Passed, res.Total, err)
	}
}

// stopping stops a run after some records.
type stopping struct {
	after int
	stop  func()
}

func (*stopping) Asking(string, bool) {}
func (s *stopping) Recorded(result.Record) {
	if s.after--; s.after == 0 {
		s.stop()
	}
}

// lacking is a service that lacks an ability.
type lacking struct {
	target.Service
	ability target.Ability
}

func (l lacking) Lacks(a target.Ability) string {
	if a == l.ability {
		return "it never learned to"
	}
	return l.Service.Lacks(a)
}

// TestOverwriteIsAnAbility checks that only what replaces a text needs a service that can.
func TestOverwriteIsAnAbility(t *testing.T) {
	session := open(t, "no fault")
	put := func(path, text string) string { return fmt.Sprintf(`{"op":"put","path":%q,"text":%q}`, path, text) }
	d := written(t, dataset.Options{},
		`{"id":"new","brain":"a","question":"What colour is the kettle?","before":[`+put("k.md", "The kettle is green.")+`],"expected_substrings":["green"]}`,
		`{"id":"replaced","brain":"b","question":"What colour is the pan?","before":[`+put("p.md", "The pan is red.")+","+put("p.md", "The pan is blue.")+`],"expected_substrings":["blue"]}`,
		`{"id":"later","brain":"a","question":"What colour is the kettle now?","before":[`+put("k.md", "The kettle is white.")+`],"expected_substrings":["white"]}`,
		`{"id":"written again","brain":"c","question":"What colour is the lid?","before":[`+put("l.md", "The lid is red.")+`,{"op":"delete","path":"l.md"},`+put("l.md", "The lid is grey.")+`],"expected_substrings":["grey"]}`,
		`{"id":"unknown","brain":"c","question":"What did the spoon cost?","expected_substrings":["do not know"],"tags":["abstention"]}`,
	)
	run := func(ability target.Ability, scenario result.Scenario) map[string]result.Record {
		var seen records
		c := configOf(t, session, d, &seen)
		c.Subject.Target.Service, c.Subject.Target.Scenario = lacking{session.Service(), ability}, scenario
		if _, err := harness.Drive(t.Context(), c, result.Identity{Scenario: scenario}); err != nil {
			t.Fatal(err)
		}
		return seen.byID()
	}
	for id, r := range run(target.Overwrite, result.AskBasic) {
		want := result.Scored
		if id == "replaced" || id == "later" {
			want = result.NotMeasurable
		}
		if r.Outcome != want || want == result.NotMeasurable && !strings.Contains(r.Reason, "overwrite") {
			t.Errorf("%s: %s (%s), want %s", id, r.Outcome, r.Reason, want)
		}
	}
	for id, r := range run("", result.SearchOnly) {
		want := result.Scored
		if id == "unknown" {
			want = result.NotMeasurable
		}
		if r.Outcome != want {
			t.Errorf("%s without a reader: %s (%s), want %s", id, r.Outcome, r.Reason, want)
		}
	}
}
