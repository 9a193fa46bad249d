package target

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"evalctl/harness/aggregate"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/sse"
)

// grounded returns what the citations of a record count for if it passed.
func grounded(rec result.Record) [2]int {
	rec.Passed = true
	sum := aggregate.New(1)
	sum.Add(rec)
	var res result.Result
	sum.Fill(&res)
	return [2]int{res.Grounded, res.GroundedIDsOnly}
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{
		daemontest.AnswerTo("question 1"), "", ": x\n\n", event("error", "{}"),
		event("error", "null"), event("done", `{"ok":false,"error":"x"}`),
		event("done", `{"answer":7,"usage":[]}`),
		event("retrieve", `{"chunks":[{"chunkId":"a","score":1e400},null]}`) +
			event("token", `{"text":"\ud800"}`) +
			event("done", `{"usage":{"input_tokens":-1e308}}`),
		event("retrieve",
			`{"chunks":[{"duplicates":["a#0", {"path":"b"},7,null,[]]},{"duplicates":{}}]}`) +
			event("done", `{}`),
		event("citation", "{\"a\":\"\xff\"}") + event("citation", `[]`), "data: {\"ok\":true}\n\n",
		"event: done\r\rdata:{}\r\r",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Answer
		stream := sse.NewReader(iotest.HalfReader(bytes.NewReader(data)), sse.MaxEvent)
		err := readAnswer(t.Context(), stream, &a, time.Now())
		failure, ok := AsFailure(err)
		if err != nil && (!ok || failure.Kind == "" || failure.Message == "") {
			t.Fatalf("got %v", err)
		}
		if err != nil && len(a.Answer) > 3*len(data) { // an invalid byte becomes three
			t.Fatalf("%d bytes yielded a text of %d", len(data), len(a.Answer))
		}
		rec := result.Record{
			ID: "a", Question: "q", Line: 1,
			Reply: result.Reply{Attempts: 1, Answer: a.Answer, Citations: a.Citations, Retrieved: a.Retrieved, EffectiveMode: a.EffectiveMode, Fusion: a.Fusion, Model: a.Model, PromptSHA256: a.PromptSHA256, Usage: a.Usage}, Outcome: result.Unscored,
		}
		if rec.Retrieved == nil {
			rec.Retrieved = []result.Chunk{} // as a run records it
		}
		if failure != nil {
			rec.Outcome, rec.Error = result.Errored, &failure.Failure
		}
		line, err := json.Marshal(rec)
		if err != nil || !utf8.Valid(line) || bytes.ContainsAny(line, "\n") {
			t.Fatalf("it cannot be recorded: %v: %s", err, line)
		}
		var back result.Record
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if back.Answer != rec.Answer || len(back.Citations) != len(rec.Citations) ||
			grounded(back) != grounded(rec) {
			t.Fatalf("it was read back as %+v", back)
		}
		if err := validRecord(line); err != nil {
			t.Fatalf("not valid against the schema: %v\n%s", err, line)
		}
	})
}
