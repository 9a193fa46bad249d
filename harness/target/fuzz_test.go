package target

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/sse"
)

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{
		daemontest.AnswerTo("question 1"), "", ": x\n\n", daemontest.Event("error", "{}"), daemontest.Event("error", "null"), daemontest.Event("done", `{"ok":false,"error":"x"}`), daemontest.Event("done", `{"answer":7,"usage":[]}`),
		daemontest.Event("retrieve", `{"chunks":[{"chunkId":"a","score":1e400},null]}`) + daemontest.Event("token", `{"text":"\ud800"}`) + daemontest.Event("done", `{"usage":{"input_tokens":-1e308}}`),
		daemontest.Event("retrieve", `{"chunks":[{"duplicates":["a#0", {"path":"b"},7,null,[]]},{"duplicates":{}}]}`) + daemontest.Event("done", `{}`),
		daemontest.Event("citation", "{\"a\":\"\xff\"}") + daemontest.Event("citation", `[]`), "data: {\"ok\":true}\n\n", "event: done\r\rdata:{}\r\r",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Answer
		err := readAnswer(t.Context(), sse.NewReader(iotest.HalfReader(bytes.NewReader(data)), sse.MaxEvent), &a, time.Now())
		failure, ok := AsFailure(err)
		if err != nil && (!ok || failure.Kind == "" || failure.Message == "") {
			t.Fatalf("got %v", err)
		}
		if err != nil && len(a.Text) > 3*len(data) { // a bad byte becomes three
			t.Fatalf("%d bytes gave a text of %d", len(data), len(a.Text))
		}
		rec := result.Record{
			ID: "a", Question: "q", Line: 1, Attempts: 1, Outcome: result.Unscored,
			Answer: a.Text, Citations: a.Citations, Retrieved: a.Retrieved, EffectiveMode: a.EffectiveMode,
			Model: a.Model, PromptSHA256: a.PromptSHA256, Usage: a.Usage,
		}
		if failure != nil {
			rec.Outcome, rec.Error = result.Errored, &failure.Failure
		}
		line, err := json.Marshal(rec)
		if err != nil || !utf8.Valid(line) || bytes.ContainsAny(line, "\n") {
			t.Fatalf("it cannot be kept: %v: %s", err, line)
		}
		var back result.Record
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if back.Answer != rec.Answer || len(back.Citations) != len(rec.Citations) || back.Grounded() != rec.Grounded() {
			t.Fatalf("it came back as %+v", back)
		}
		if err := validRecord(line); err != nil {
			t.Fatalf("not valid by the schema: %v\n%s", err, line)
		}
	})
}
