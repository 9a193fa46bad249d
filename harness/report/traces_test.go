package report

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
)

// ids matches the ids of spans, which OTLP writes in hexadecimal and protojson reads in base64.
var ids = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([^"]*)"`)

// tracesOf returns the text of the traces of a document, and the spans that the published schema of
// OTLP finds in it, by the name after the id of the question.
func tracesOf(t *testing.T, d Document) (string, map[string]*trace.Span) {
	t.Helper()
	var b strings.Builder
	if err := Traces(&b, d); err != nil {
		t.Fatal(err)
	}
	spans := map[string]*trace.Span{}
	for line := range strings.Lines(b.String()) {
		for _, m := range ids.FindAllStringSubmatch(line, -1) {
			id, err := hex.DecodeString(m[2])
			if want := map[string]int{"traceId": 16, "spanId": 8, "parentSpanId": 8}[m[1]]; err != nil || len(id) != want || m[2] != strings.ToLower(m[2]) {
				t.Errorf("%s: %v", m[0], err)
			}
			line = strings.ReplaceAll(line, m[0], `"`+m[1]+`":"`+base64.StdEncoding.EncodeToString(id)+`"`)
		}
		var export trace.TracesData // has the form of an ExportTraceServiceRequest
		if err := protojson.Unmarshal([]byte(line), &export); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if strings.Contains(line, `_`+`":`) || strings.Contains(line, `"kind":"`) {
			t.Errorf("a key or a kind is not as OTLP has it: %s", line)
		}
		var root *trace.Span
		for _, s := range export.ResourceSpans[0].ScopeSpans[0].Spans {
			if root == nil {
				root = s
			}
			name := root.Attributes[0].Value.GetStringValue() + " " + s.Name
			if spans[name] != nil || string(s.TraceId) != string(root.TraceId) || (s == root) != (len(s.ParentSpanId) == 0) ||
				s.StartTimeUnixNano > s.EndTimeUnixNano || s.StartTimeUnixNano < root.StartTimeUnixNano || s.EndTimeUnixNano > root.EndTimeUnixNano {
				t.Errorf("%s: %v in %v", name, s, root)
			}
			spans[name] = s
		}
	}
	return b.String(), spans
}

// tracedRun returns a run whose questions have the times that records can have.
func tracedRun() *Run {
	run := runOf(8)
	run.Questions[7] = question(19) // an error
	asked := run.Result.StartedAt
	for i := range run.Questions {
		r := &run.Questions[i]
		r.AskedAt = asked.Add(time.Duration(i) * time.Second)
		r.LatencyMS = 500
	}
	q := func(i int) *result.Record { return &run.Questions[i] }
	q(0).Timeline = result.Timeline{{Event: "retrieve", AtMS: 120}, {Event: "done", AtMS: 500}}
	q(0).JudgedAt, q(0).JudgeMS, q(0).JudgeAttempts = q(0).AskedAt.Add(600*time.Millisecond), 250, 1
	q(1).Timeline, q(1).FeltMS = q(0).Timeline, new(1500.0) // a second attempt, after 1000 ms
	q(2).SearchMS = new(200.0)
	q(3).SearchMS, q(3).FeltMS = new(200.0), new(900.0) // not known where it waited
	q(4).SearchMS, q(4).DeepRank = new(200.0), new(7)   // a look below top-k was between
	q(5).AskedAt = time.Time{}                          // of an older file
	return run
}

func TestTraces(t *testing.T) {
	text, spans := tracesOf(t, tracedRun())
	goldentest.Compare(t, "testdata/traces.jsonl", text)
	if again, _ := tracesOf(t, tracedRun()); again != text {
		t.Error("the traces of one result differ")
	}
	start := uint64(tracedRun().Result.StartedAt.UnixNano())
	for name, want := range map[string][2]int{ // the start and the end, in milliseconds since the run began
		"q-000 question": {0, 850}, "q-000 retrieval": {0, 120}, "q-000 answer": {120, 500}, "q-000 judge": {600, 850},
		"q-001 question": {1000, 2500}, "q-001 retrieval": {2000, 2120}, "q-001 answer": {2120, 2500},
		"q-002 question": {2000, 2500}, "q-002 retrieval": {2000, 2200}, "q-002 answer": {2200, 2500},
		"q-003 question": {3000, 3900}, "q-004 question": {4000, 4500}, "q-004 retrieval": {4000, 4200},
		"q-006 question": {6000, 6500}, "q-006 answer": {6000, 6500}, "q-019 question": {7000, 7500},
	} {
		s := spans[name]
		if s == nil || s.StartTimeUnixNano != start+uint64(want[0])*1e6 || s.EndTimeUnixNano != start+uint64(want[1])*1e6 {
			t.Errorf("%s is %v, want %v", name, s, want)
		}
		delete(spans, name)
	}
	if len(spans) > 0 {
		t.Errorf("there are more spans: %v", spans)
	}
	if !strings.Contains(text, `"status":{"code":2,"message":"stream ended without done"}`) || strings.Contains(text, "What is in box") {
		t.Errorf("a status is missing, or there is a text of a question, in\n%s", text)
	}
	run := tracedRun()
	run.Result.Identity.Scenario = result.SearchOnly
	if _, spans := tracesOf(t, run); spans["q-006 retrieval"] == nil || spans["q-006 answer"] != nil {
		t.Errorf("a search has the spans %v", spans)
	}
}

// TestTracesWithoutTimes: that a result has no times is an error and not an empty file.
func TestTracesWithoutTimes(t *testing.T) {
	if err := Traces(new(strings.Builder), runOf(3)); err == nil || !strings.Contains(err.Error(), "no question has the time") {
		t.Error(err)
	}
	if err := Traces(new(strings.Builder), Conformance{}); err == nil {
		t.Error("a report of conformance has traces")
	}
}

// TestReplaceable: a dataset that ends in .jsonl is replaced neither by a table nor by traces.
func TestReplaceable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	for flag, start := range starts {
		if err := os.RemoveAll(path); err != nil || !replaceable(path, start) {
			t.Error(err, "a file that does not exist")
		}
		for content, want := range map[string]bool{"": true, start + "[]}": true, "{": false, `{"id":"q1","question":"?"}`: false} {
			filetest.Write(t, path, content)
			if got := replaceable(path, start); got != want {
				t.Errorf("--%s, %.20q: %v", flag, content, got)
			}
		}
	}
}
