package daemon_test

import (
	"encoding/json"
	"testing"

	"evalctl/daemon"
	"evalctl/internal/llm"
)

// TestRecordAndHitAgree: over HTTP, a document's record and a hit in it carry the same values.
func TestRecordAndHitAgree(t *testing.T) {
	d := serve(t, daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"id":"eval"}`)
	const text = "---\ntags: a, b\ncreated_at: 2024/5/8\nsession_id: 0012\nversion: 1.10\ncount: 3\nnone: null\n---\nwalrus"
	d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", octets, text)

	var record struct {
		Metadata  json.RawMessage `json:"metadata"`
		CreatedAt string          `json:"created_at"`
	}
	body := d.expect(t, 200, "GET", "/v1/brains/eval/documents/a.md", "", "")
	if err := json.Unmarshal([]byte(body), &record); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var found struct {
		Chunks []struct {
			Metadata json.RawMessage `json:"metadata"`
		} `json:"chunks"`
	}
	body = d.expect(t, 200, "POST", "/v1/brains/eval/search", "application/json",
		`{"query":"walrus","filters":{"session_ids":["0012"],"tags":["b"],"date_from":"2024-05-08","date_to":"2024-05-08"}}`)
	if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Chunks) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	const metadata = `"none":null,"session_id":"0012","tags":"a,b","version":"1.10"}`
	if got := string(record.Metadata); got != `{"count":3,`+metadata || record.CreatedAt != "2024-05-08T00:00:00.000Z" {
		t.Errorf("record created at %s with %s", record.CreatedAt, got)
	}
	if got := string(found.Chunks[0].Metadata); got != `{"count":3,"date":"2024-05-08",`+metadata {
		t.Errorf("hit with %s", got)
	}
}
