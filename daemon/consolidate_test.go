package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

// TestConsolidateOnEveryStore goes from messages to a consolidated memory over HTTP, and restarts
// the daemon before and after.
func TestConsolidateOnEveryStore(t *testing.T) {
	onEveryStore(t, func(t *testing.T, d running, restart func() running) {
		for i, text := range []string{
			"I have a brother in Lima. I live in Porto.", "I have a brother in Lima!", "I moved to Lisbon.",
		} {
			session := fmt.Sprintf("/v1/brains/eval/sessions/s%d", i)
			d.expect(t, 201, "POST", session+"/messages", "", fmt.Sprintf(
				`{"role":"user","name":"Ana","content":%q,"created_at":"2024-05-0%dT10:00:00Z"}`, text, i+1))
			awaittest.Until(t, "the facts", func() bool {
				return strings.Contains(d.expect(t, 200, "GET", session, "", ""), `"extracted":1`)
			})
		}
		d = restart()
		dry := consolidate(t, d, `{"dry_run":true}`)
		got := consolidate(t, d, "")
		if len(got.Promoted) != 1 || fmt.Sprint(dry.Promoted, dry.Compiled, dry.Pruned) != fmt.Sprint(got.Promoted, got.Compiled, got.Pruned) {
			t.Errorf("dry run %+v, then %+v", dry, got)
		}
		d = restart()
		if again := consolidate(t, d, ""); again.Record != "" {
			t.Errorf("again %+v", again)
		}
		read := func(path string) string {
			return d.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+url.QueryEscape(path), "", "")
		}
		if note := read(got.Promoted[0].Path); !strings.Contains(note, "Ana: I have a brother in Lima.") {
			t.Errorf("note %s", note)
		}
		record := read(got.Record)
		for _, lost := range []string{"- 2024-05-01: Ana: I live in Porto.", "- 2024-05-02: Ana: I have a brother in Lima!"} {
			if !strings.Contains(record, "\n"+lost+"\n") {
				t.Errorf("%q is not in the record %s", lost, record)
			}
		}
		found := d.expect(t, 200, "POST", "/v1/brains/eval/search", "", `{"query":"brother in Lima","scope":"global"}`)
		if !strings.Contains(found, got.Promoted[0].Path) {
			t.Errorf("found %s", found)
		}
	})
}

func consolidate(t *testing.T, d running, body string) protocol.Consolidation {
	t.Helper()
	var got protocol.ConsolidateResponse
	answer := d.expect(t, 200, "POST", "/v1/brains/eval/consolidate", "", body)
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return got.Result
}
