package protocol_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
)

// TestExtraKeysSurvive: an object of arbitrary keys and values loses none of them.
func TestExtraKeysSurvive(t *testing.T) {
	values := rapid.SampledFrom([]string{
		`null`, `true`, `12345678901234567890.00`, `1e400`, `"<&>"`, `"\u00e9\ud83d\ude00"`, `""`,
		`[ 1,2 , {"b":1,"a":2,"a":3} ]`, `{ "nested" : { } }`,
	})
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"Path", "PATH", "Extra", "-", "", "documentId", "status ", "\u017ftatus", "pages",
	}))
	rapid.Check(t, func(t *rapid.T) {
		extra := rapid.MapOf(names, values).Draw(t, "extra")
		sent := map[string]json.RawMessage{"path": json.RawMessage(`"a.md"`)}
		var body strings.Builder
		body.WriteString(`{"path":"a.md","chunk_count":7`)
		for key, value := range extra {
			name, err := json.Marshal(key)
			if err != nil {
				t.Fatal(err)
			}
			if string(name) == `"path"` || string(name) == `"chunk_count"` || isKnown(key) {
				delete(extra, key)
				continue
			}
			body.WriteString(" , " + string(name) + " : " + value)
			sent[key] = json.RawMessage(value)
		}
		body.WriteString("}")
		delete(sent, "path")

		var got protocol.IngestResponse
		if err := json.Unmarshal([]byte(body.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Path != "a.md" || got.ChunkCount != 7 {
			t.Errorf("the known keys are %+v", got)
		}
		if len(sent) == 0 {
			sent = nil
		}
		if diff := cmp.Diff(sent, got.Extra); diff != "" {
			t.Errorf("extra keys of %s:\n%s", body.String(), diff)
		}
		again, err := got.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]json.RawMessage
		if err := json.Unmarshal(again, &written); err != nil {
			t.Fatal(err)
		}
		for key, value := range sent {
			if !bytes.Equal(written[key], value) {
				t.Errorf("%s does not have %q: %s", again, key, value)
			}
		}
		var back protocol.IngestResponse
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("after a round trip:\n%s", diff)
		}
	})
}

// isKnown reports whether key is exactly the name of a field.
func isKnown(key string) bool {
	for _, name := range strings.Fields("status document_id path hash chunk_count embedded_count duration_ms reused job_id") {
		if key == name {
			return true
		}
	}
	return false
}

func TestExtraKeysDoNotReplaceFields(t *testing.T) {
	r := protocol.IngestResponse{Path: "a.md", Extra: map[string]json.RawMessage{
		"path": json.RawMessage(`"other.md"`), "pages": json.RawMessage(`3`),
	}}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data); strings.Count(got, `"path"`) != 1 || !strings.Contains(got, `"pages":3`) ||
		strings.Contains(got, "other.md") {
		t.Errorf("got %s", got)
	}
	r.Extra["pages"] = json.RawMessage(`}`)
	if data, err := json.Marshal(r); err == nil {
		t.Errorf("invalid JSON was encoded: %s", data)
	}
}

func TestIngestResponseRejectsWrongTypes(t *testing.T) {
	for _, body := range []string{`[]`, `"x"`, `{"path":3}`, `{"chunk_count":"x"}`} {
		var r protocol.IngestResponse
		if err := json.Unmarshal([]byte(body), &r); err == nil {
			t.Errorf("%s was accepted: %+v", body, r)
		}
	}
}
