package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

func TestDecodeTakesBothSpellings(t *testing.T) {
	want := protocol.AskRequest{Question: "q", TopK: 5, ReaderMode: "basic", QuestionDate: "2024-05-01"}
	for _, body := range []string{
		`{"question":"q","top_k":5,"reader_mode":"basic","question_date":"2024-05-01"}`,
		`{"query":"q","topK":5,"readerMode":"basic","questionDate":"2024-05-01"}`,
		` { "question":"q", "query":"\u0071", "top_k":5, "topK":5.0, "readerMode":"basic", "questionDate":"2024-05-01", "extra":{"a":[1]}, "TOP_K":9, "top_K":9, "Question":"z", "que\u017ftion":"z" } `,
	} {
		var got protocol.AskRequest
		// 5.0 equals 5; the first spelling is the one decoded.
		err := decode([]byte(body), aliases{"query": "question"}, &got)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"question":"q","query":"q","top_k":5,"topK":5}`))
	f.Add([]byte(`{"a":1}{}`))
	f.Add([]byte(`{"topK":1e400,"top_k":null}`))
	f.Add([]byte("{\"\xff\":1}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got protocol.AskRequest
		if decode(body, aliases{"query": "question"}, &got) != nil {
			return
		}
		var object map[string]any
		if err := json.Unmarshal(body, &object); err != nil {
			t.Fatalf("accepted what is no JSON object: %v", err)
		}
		for _, key := range []string{"question", "query"} {
			if s, ok := object[key].(string); ok && s != got.Question {
				t.Fatalf("%s is %q, decoded as %q", key, s, got.Question)
			}
		}
	})
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"reason":"r","ops":[{"type":"write","path":"a","content_base64":"YQ=="},{"type":"rename","path":"a","to":"b"}]}`))
	f.Add([]byte(`{"ops":[{"type":"delete","path":"a"}`))
	f.Add([]byte(`{"ops":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeBatch(body)
		if err != nil {
			return
		}
		var object struct{ Ops []json.RawMessage }
		if err := json.Unmarshal(body, &object); err != nil {
			t.Fatalf("accepted what is no batch: %v", err)
		}
		for i, op := range c.Ops {
			if op.Kind == "" {
				t.Fatalf("op %d has no kind", i)
			}
		}
	})
}
