package resultfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/harness/aggregate"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

const golden = "../testdata/result.json"

func ExampleOpen() {
	r, err := resultfile.Open(golden)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	res := r.Result()
	fmt.Println(res.SDK, res.Gate.Verdict, res.Gate.Sentence)
	for q, err := range r.Questions() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(q.ID, q.Outcome, q.Passed)
	}
	// Output:
	// go invalid 1 error in 6 questions, --max-errors 0 allows 0; no verdict of the scorer on 2 of 6 questions, --max-unscored 0 allows 0
	// q1 unscored false
	// q2 scored true
	// q3 scored true
	// q4 scored true
	// q5 error false
	// q6 unscored false
}

// whole is a result file as encoding/json reads it.
type whole = resulttest.File

func TestReadGolden(t *testing.T) {
	data := filetest.Read(t, golden)
	var want whole
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	res, questions, err := resultfile.ReadAll(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Result, res); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Questions, questions); diff != "" {
		t.Error(diff)
	}
}

// text draws text with everything that JSON escapes.
func text(t *rapid.T, name string) string {
	return rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"\\/<>&\n\x00\u2028[]{},:")))).Draw(t, name)
}

func drawRecord(t *rapid.T, id string) result.Record {
	r := result.Record{
		ID: id, Question: text(t, "question"),
		Reply: result.Reply{Answer: text(t, "answer"), LatencyMS: rapid.Float64Range(0, 1e9).Draw(t, "latency"), Citations: []json.RawMessage{}, Attempts: rapid.Int().Draw(t, "attempts"), Retrieved: []result.Chunk{}, EffectiveMode: text(t, "mode"), Fusion: text(t, "fusion"), Model: text(t, "model")}, Outcome: rapid.SampledFrom([]result.Outcome{result.Scored, result.Errored, result.Unscored}).Draw(t, "outcome"),
		Reason: text(t, "reason"), QuestionDate: text(t, "date"), Reference: text(t, "reference"),
		Brain: text(t, "brain"), Line: rapid.Int().Draw(t, "line"), JudgeUSD: llm.USD(rapid.Int64Min(0).Draw(t, "usd")),
		JudgeUsageEstimated: rapid.Bool().Draw(t, "estimated"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "chunks") {
		r.Retrieved = append(r.Retrieved, result.Chunk{ChunkID: text(t, "chunk"), Path: text(t, "path"), Score: rapid.Float64().Draw(t, "score"), Text: text(t, "text")})
		cite, err := json.Marshal(map[string]any{text(t, "key"): text(t, "value"), "n": []any{1, nil, text(t, "element")}})
		if err != nil {
			t.Fatal(err)
		}
		r.Citations = append(r.Citations, cite)
		r.Tags = append(r.Tags, text(t, "tag"))
		r.ExpectedPaths = append(r.ExpectedPaths, text(t, "expected"))
	}
	switch r.Outcome {
	case result.Scored:
		r.Score = new(rapid.Float64Range(0, 1).Draw(t, "score"))
		r.Passed = *r.Score >= 0.5
	case result.Errored:
		r.Error = &result.Failure{Kind: result.KindStatus, Message: text(t, "error"), Status: 503}
	}
	if r.Outcome != result.Errored && len(r.ExpectedPaths) > 0 {
		r.Retrieval = &result.QuestionRetrieval{Documents: 1, Gold: scorer.Ranking{{Path: text(t, "gold"), Gain: 1, Rank: rapid.IntRange(0, 9).Draw(t, "rank")}}, Recall: 0.5}
	}
	if rapid.Bool().Draw(t, "usage") {
		r.Usage, r.FirstDeltaMS = &protocol.Usage{InputTokens: 7}, new(rapid.Float64Range(0, 1e9).Draw(t, "first"))
	}
	return r
}

// TestReadWhatIsWritten checks that a result file reads back as what was written, whatever the
// questions contain and also if the run stopped early.
func TestReadWhatIsWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 1, 8, rapid.ID).Draw(t, "ids")
		done := rapid.IntRange(0, len(ids)).Draw(t, "done")
		id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", TopK: 5, Dataset: result.DatasetID{Path: text(t, "path"), Selected: len(ids)}}
		started := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "started"), 0).UTC()
		j, err := journal.Create(dir, id, started, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Remove()
		total := aggregate.New(5)
		var want []result.Record
		for i := range done {
			r := drawRecord(t, ids[i])
			kind := journal.KindGrade
			if r.Outcome == result.Errored {
				kind = journal.KindAnswer
			}
			if err := j.Append(journal.Entry{Kind: kind, Index: i, Record: &r}); err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
			total.Add(r)
		}
		max, err := result.ParseAllowance("10%")
		if err != nil {
			t.Fatal(err)
		}
		res := result.Result{SDK: "go", Planned: len(ids), Identity: id, StartedAt: started, FinishedAt: started, Settings: result.Settings{Floor: 0.9, MaxUnscored: max}}
		if done < len(ids) {
			res.Stopped = result.StopInterrupted
		}
		total.Fill(&res)
		total.Judge(&res)
		path, err := j.WriteResult(&res)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		got, questions, err := resultfile.ReadAll(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(res, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, questions); diff != "" {
			t.Error(diff)
		}
	})
}

// fileOf returns a result file with these questions.
func fileOf(stopped result.Stop, planned int, questions ...string) string {
	total := aggregate.New(5)
	for range questions {
		total.Add(result.Record{Outcome: result.Errored})
	}
	res := result.Result{SDK: "go", Planned: planned, Stopped: stopped, Identity: result.Identity{SchemaVersion: result.SchemaVersion}}
	total.Fill(&res)
	total.Judge(&res)
	head, err := json.Marshal(res)
	if err != nil {
		panic(err)
	}
	return string(head[:len(head)-1]) + `,"questions":[` + strings.Join(questions, ",") + "]}\n"
}

func writeText(tb testing.TB, text string) string {
	tb.Helper()
	return filetest.Write(tb, filepath.Join(tb.TempDir(), "go.json"), text)
}

func TestReadRejects(t *testing.T) {
	two := fileOf("", 2, `{"outcome":"error","id":"a"}`, `{"outcome":"error","id":"b"}`)
	at := func(file, part string) string { return fmt.Sprintf("byte %d: ", strings.Index(file, part)) }
	swap := func(from, to string) string {
		if !strings.Contains(two, from) {
			t.Fatalf("no %s in %s", from, two)
		}
		return strings.Replace(two, from, to, 1)
	}
	thrice := func(from, to string) string {
		file := fileOf("", 3, `{"outcome":"error","id":"a","repeat":1}`, `{"outcome":"error","id":"a","repeat":2}`,
			`{"outcome":"error","id":"a","repeat":3}`)
		return strings.NewReplacer(`"selected":0`, `"selected":3,"repeats":3`, from, to).Replace(file)
	}
	if _, questions, err := resultfile.ReadAll(writeText(t, thrice("-", "-"))); err != nil || len(questions) != 3 {
		t.Errorf("three repeats: %d questions, %v", len(questions), err)
	}
	repeated := fileOf("", 3, `{"outcome":"error","id":"a"}`, `{"outcome":"error","id":"b"}`, ` {"outcome":"error","id":"a"}`)
	for _, c := range []struct{ name, file, want string }{
		{"a newer version", swap(`"schema_version":1`, `"schema_version":2`), "schema version 2 and was written by a newer evalctl: use that version or a newer one"},
		{"a newer version of another shape", `{"identity":{"schema_version":2},"questions":{"a":1},"counts":7}`, "written by a newer evalctl"},
		{"an older version", swap(`"schema_version":1`, `"schema_version":0`), "schema version 0 and was written by an older evalctl: evaluate again"},
		{"no version", swap(`"schema_version":1`, `"version":1`), "it is not a result file: identity.schema_version is missing"},
		{"another file", `{"a":[1,2,{"b":"c"}]}`, "it is not a result file"},
		{"a sweep", `{"schema_version":1,"sdk":"go","cells":[{"result":` + two + `}]}`, "it is a sweep file"},
		{"a journal", `{"kind":"run","identity":{"schema_version":1}}` + "\n" + `{"kind":"answer"}` + "\n", "it is the journal of a run that has not finished"},
		{"no questions", swap(`"questions"`, `"queries"`), "it has no list of questions"},
		{"questions that are no list", strings.Replace(two, `"questions":[{"outcome":"error","id":"a"},{"outcome":"error","id":"b"}]`, `"questions":7`, 1), "it has no list of questions"},
		{"no counts", swap(`"counts":`, `"sums":`), "the key counts is missing"},
		{"nothing planned", swap(`"planned":2,`, ``), "the key planned is missing"},
		{"an empty file", "", "the file is empty"},
		{"a list", "[]", `it is not a result file: it begins with '[', and a result is one JSON object`},
		{"text", "hello", `it is not a result file: it begins with 'h'`},
		{"data after the end", two + "x", fmt.Sprintf("byte %d: 'x' after the end", len(two))},
		{"two files in one", two + two, fmt.Sprintf("byte %d: '{' after the end", len(two))},
		{"a key twice", swap(`"planned"`, `"planned":2,"planned"`), at(swap(`"planned"`, `"planned":2,"planned"`), `:2,"counts"`)[:5]},
		{"a key in two spellings", swap(`"planned"`, `"PLANNED":2,"planned"`), `the key "planned" is repeated`},
		{"questions twice", swap(`"questions"`, `"questions":[],"questions"`), `the key "questions" is repeated`},
		{"a number that is text", swap(`"planned":2`, `"planned":"2"`), "planned must not be a string"},
		{"text within the figures", swap(`"passed":0`, `"passed":zero`), at(swap(`"passed":0`, `"passed":zero`), "zero") + "invalid character 'z'"},
		{"an unknown key that is not JSON", swap(`"planned"`, `"x y":zero,"planned"`), at(swap(`"planned"`, `"x y":zero,"planned"`), "zero")},
		{"an allowance that is none", swap(`"max_unscored":"0"`, `"max_unscored":"few"`), "must be a number of questions"},
		{"a trailing comma", swap(`}]}`, `}],}`), `'}' where a key should be`},
		{"a key without quotes", `{planned:2}`, "byte 1: 'p' where a key should be"},
		{"a missing value", `{"planned":,}`, "byte 11: ',' where a value should be"},
		{"a missing colon", `{"planned" 2}`, `byte 11: '2' where ':' should be`},
		{"a key that is not valid", `{"pl\anned":2}`, "the key before it is not valid"},
		{"counts of fewer", strings.Replace(two, `"counts":{"total":2`, `"counts":{"total":1`, 1), "2 errors and 0 unscored are not 1 in total"},
		{"one question less", strings.Replace(two, `,{"outcome":"error","id":"b"}`, "", 1), "it has 1 question; its counts say 2 and the run planned 2"},
		{"one question more", strings.Replace(two, `{"outcome":"error","id":"b"}`, `{"outcome":"error","id":"b"},{"outcome":"error","id":"c"}`, 1), "it has 3 questions; its counts say 2 and the run planned 2"},
		{"fewer than planned", swap(`"planned":2`, `"planned":3`), "it has 2 questions; its counts say 2 and the run planned 3"},
		{"fewer than counted in a stopped run", strings.Replace(fileOf("failed", 5, `{"outcome":"error","id":"a"}`, `{"outcome":"error","id":"b"}`), `,{"outcome":"error","id":"b"}`, "", 1), "it has 1 question; its counts say 2, and the run planned 5 before it stopped"},
		{"more than planned in a stopped run", fileOf("failed", 1, `{"outcome":"error","id":"a"}`, `{"outcome":"error","id":"b"}`), "planned 1 before it stopped"},

		{"an id twice", repeated, `question 3: ` + at(repeated, `{"outcome":"error","id":"a"}]`) + `duplicate id "a", first used by question 1`},
		{"a repeat in a run without", swap(`"id":"b"`, `"id":"b","repeat":1`), `id "b" has repeat 1 in a run without repeats`},
		{"a repeat above the last", thrice(`"repeat":3`, `"repeat":4`), `id "a" has repeat 4 in a run of 3 repeats`},
		{"no repeat", thrice(`,"repeat":3`, ``), `id "a" has repeat 0 in a run of 3 repeats`},
		{"a repeat twice", thrice(`"repeat":3`, `"repeat":1`), `duplicate id "a", first used by question 1`},
		{"no id", swap(`{"outcome":"error","id":"b"}`, `{"answer":"b"}`), "question 2: " + at(two, `{"outcome":"error","id":"b"}`) + "it has no id"},
		{"a question that is none", swap(`{"outcome":"error","id":"b"}`, `7`), "question 2: " + at(two, `{"outcome":"error","id":"b"}`)[:5]},
		{"a question that is not JSON", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"error","id":b}`), "question 2: " + at(swap(`{"outcome":"error","id":"b"}`, `{"outcome":"error","id":b}`), "b}") + "invalid character 'b'"},
		{"brackets that do not match", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"error","id":["b"}}`), "question 2: byte "},
		{"no comma between questions", swap(`},{"outcome":"error","id":"b"}`, `} {"outcome":"error","id":"b"}`), fmt.Sprintf("byte %d: '{' where ','", strings.Index(two, `,{"outcome":"error","id":"b"}`)+1)},
		{"an unknown outcome", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"lost","id":"b"}`), `unknown outcome "lost"`},
		{"a score without a verdict", swap(`"id":"b"`, `"id":"b","score":1`), "outcome error and score 1.000"},
		{"a score above 1", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"scored","score":17,"id":"b"}`), "score 17 is not between 0 and 1"},
		{"an error that passed", swap(`"id":"b"`, `"id":"b","passed":true`), "outcome error has passed"},
		{"another outcome than counted", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"unscored","id":"b"}`), "its questions count as"},
		{"more passed than scored", swap(`"counts":{"total":2,"passed":0`, `"counts":{"total":2,"passed":1`), "counts: 1 passed of 0 scored"},
		{"another total", swap(`"total":2,"passed":0`, `"total":2,"passed":2`), "it has 2 of 2 passed, its counts 0 of 2"},
		{"counts below 0", swap(`"errors":2,"unscored":0`, `"errors":3,"unscored":-1`), "its counts are below 0"},
		{"no gate", swap(`"gate":`, `"goal":`), "the key gate is missing"},
		{"a gate of another run", swap(`"verdict":"invalid"`, `"verdict":"hm"`), `unknown verdict "hm"`},
		{"a version that is no integer", swap(`"schema_version":1`, `"schema_version":2.5`), "its identity cannot be read"},
		{"a field of another type", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"error","id":"b","line":"x"}`), "line must not be a string"},
		{"money below 0", swap(`{"outcome":"error","id":"b"}`, `{"outcome":"error","id":"b","judge_usd":-1}`), "is not an amount"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeText(t, c.file)
			_, questions, err := resultfile.ReadAll(path)
			if err == nil || !strings.HasPrefix(err.Error(), "read "+path+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s (%d questions)", err, c.want, len(questions))
			}
		})
	}
	if _, err := resultfile.Open(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
	folder := t.TempDir()
	if _, err := resultfile.Open(folder); err == nil || err.Error() != folder+" is a folder: name the result files in it" {
		t.Errorf("a folder: got %v", err)
	}
}

// TestReadTruncated checks that no file that was cut off is read.
func TestReadTruncated(t *testing.T) {
	file := strings.TrimSpace(fileOf("", 2, `{"outcome":"error","id":"a","answer":"x \" \\"}`, `{"outcome":"error","id":"b","tags":["[","}"]}`))
	path := filepath.Join(t.TempDir(), "go.json")
	for n := 1; n < len(file); n++ {
		filetest.Write(t, path, file[:n])
		if _, _, err := resultfile.ReadAll(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("byte %d: the file ends before", n)) {
			t.Fatalf("%d bytes: got %v", n, err)
		}
	}
	filetest.Write(t, path, file)
	if _, _, err := resultfile.ReadAll(path); err != nil {
		t.Error(err)
	}
}

// TestReadAnyOrder checks that neither the order of the keys, nor space, nor unknown keys matter.
func TestReadAnyOrder(t *testing.T) {
	data := filetest.Read(t, golden)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	members["later"], members["later \" too"] = json.RawMessage(`{"schema_version":9,"questions":[{}]}`), json.RawMessage(`-1.5e3`)
	keys := make([]string, 0, len(members))
	for key := range members {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	want, wantQuestions, err := resultfile.ReadAll(golden)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "go.json")
	rapid.Check(t, func(t *rapid.T) {
		space := func() string { return rapid.SampledFrom([]string{"", " ", "\r\n\t"}).Draw(t, "space") }
		var b strings.Builder
		b.WriteString(space() + "{")
		for i, key := range rapid.Permutation(keys).Draw(t, "order") {
			if i > 0 {
				b.WriteString("," + space())
			}
			name, _ := json.Marshal(key)
			b.WriteString(string(name) + space() + ":" + space() + string(members[key]) + space())
		}
		b.WriteString("}" + space())
		filetest.Write(t, path, b.String())
		res, questions, err := resultfile.ReadAll(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(wantQuestions, questions); diff != "" {
			t.Error(diff)
		}
	})
}

// TestQuestionsAgain checks that the questions can be read again, from the first, and that a caller
// can stop.
func TestQuestionsAgain(t *testing.T) {
	r, err := resultfile.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for q, err := range r.Questions() {
			if err != nil || q.ID != "q1" {
				t.Fatal(q.ID, err)
			}
			break
		}
		n := 0
		for range r.Questions() {
			n++
		}
		if n != 6 {
			t.Errorf("got %d questions", n)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Questions() {
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), golden) {
			t.Errorf("after Close: got %v", err)
		}
	}
}

// TestReadChangedFile checks that a file which loses questions while it is read is an error.
func TestReadChangedFile(t *testing.T) {
	file := fileOf("", 3, `{"outcome":"error","id":"a"}`, `{"outcome":"error","id":"b"}`, `{"outcome":"error","id":"c"}`)
	path := writeText(t, file)
	r, err := resultfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	filetest.Write(t, path, strings.Replace(file, `,{"outcome":"error","id":"c"}`, "", 1))
	var last error
	for _, err := range r.Questions() {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "it has changed while it was read: 2 questions were 3") {
		t.Errorf("got %v", last)
	}
}

// bigFile writes a result file of n questions with answers and chunks of ordinary size.
func bigFile(tb testing.TB, n int) (path string, size int64) {
	tb.Helper()
	dir := tb.TempDir()
	id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: n}}
	j, err := journal.Create(dir, id, time.Now(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Remove()
	total := aggregate.New(5)
	prose := strings.Repeat("The kettle is green, it said: \"by the window\".\n", 12)
	var batch []journal.Entry
	for i := range n {
		r := result.Record{
			ID: fmt.Sprintf("question-%06d", i), Question: "What colour is the kettle?",
			Reply: result.Reply{Answer: prose[:200], LatencyMS: 12.345, Attempts: 1, EffectiveMode: "hybrid", Model: "m", Citations: []json.RawMessage{json.RawMessage(`{"chunk_id":"c1","start":12,"end":99,"quote":"The kettle is green"}`)}, Usage: &protocol.Usage{InputTokens: 1200, OutputTokens: 40}, FirstDeltaMS: new(3.25), Retrieval: &result.QuestionRetrieval{Documents: 5, Gold: scorer.Ranking{{Path: "a.md", Gain: 1, Rank: 1}}, Recall: 1, NDCG: 1, ReciprocalRank: 1, AveragePrecision: 1}}, Outcome: result.Scored,
			Score: new(1.0), Passed: true, Line: i + 1, Tags: []string{"fact"}, ExpectedPaths: []string{"a.md"},
		}
		for c := range 5 {
			r.Retrieved = append(r.Retrieved, result.Chunk{ChunkID: fmt.Sprint("c", c), Path: "raw/documents/a.md", Title: "Kitchen", Score: 0.123456789, Text: prose})
		}
		total.Add(r)
		if batch = append(batch, journal.Entry{Kind: journal.KindGrade, Index: i, Record: &r}); len(batch) == 100 || i == n-1 {
			if err := j.Append(batch...); err != nil {
				tb.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	res := result.Result{SDK: "go", Planned: n, Identity: id}
	total.Fill(&res)
	total.Judge(&res)
	if path, err = j.WriteResult(&res); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return path, info.Size()
}

// TestReadMemory checks that memory does not grow with the questions, but for their ids.
func TestReadMemory(t *testing.T) {
	path, size := bigFile(t, 4000)
	r, err := resultfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, n := heap(), int64(0), 0
	for _, err := range r.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%1000 == 0 {
			most = max(most, heap()-before)
		}
	}
	if most > size/10 {
		t.Errorf("a file of %d bytes needs %d", size, most)
	}
}

func BenchmarkOpen(b *testing.B) {
	path, size := bigFile(b, 10_000)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r, err := resultfile.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		_ = r.Close()
	}
}

func BenchmarkQuestions(b *testing.B) {
	path, size := bigFile(b, 10_000)
	r, err := resultfile.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range r.Questions() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
