package protocol_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
)

func TestBrainKeepsUnknownKeys(t *testing.T) {
	const body = `{"id":"a","slug":"s","name":"N","visibility":"private",` +
		`"created_at":"2024-05-01T12:00:00Z","Slug":"other","big":12345678901234567890,` +
		`"nested":{"b":[1.50,null],"a":"<é>"}}`
	var b protocol.Brain
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	want := protocol.Brain{
		ID: "a", Slug: "s", Name: "N", Visibility: protocol.VisibilityPrivate,
		CreatedAt: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC),
		Extra: map[string]json.RawMessage{
			"Slug":   json.RawMessage(`"other"`),
			"big":    json.RawMessage(`12345678901234567890`),
			"nested": json.RawMessage(`{"b":[1.50,null],"a":"<é>"}`),
		},
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode([]protocol.Brain{b}); err != nil {
		t.Fatal(err)
	}
	if want := "[" + body + "]\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestBrainRejectsWrongForms(t *testing.T) {
	for _, body := range []string{`[]`, `"a"`, `{"id":1}`, `{"id":"a"`, `null`} {
		var b protocol.Brain
		if err := b.UnmarshalJSON([]byte(body)); err == nil {
			t.Errorf("%s: got %+v", body, b)
		}
	}
}

// TestExtraNeverReplacesAField: what a program puts into Extra cannot change the brain.
func TestExtraNeverReplacesAField(t *testing.T) {
	b := protocol.Brain{ID: "a", Extra: map[string]json.RawMessage{
		"id": json.RawMessage(`"b"`), "created_at": json.RawMessage(`"x"`), "more": json.RawMessage(`1`),
	}}
	data, err := json.Marshal(b)
	if want := `{"id":"a","slug":"","name":"","visibility":"","more":1}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	b.Extra["more"] = json.RawMessage(`{`)
	if data, err := json.Marshal(b); err == nil {
		t.Errorf("invalid JSON in Extra was encoded: %s", data)
	}
}

func TestBrainRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		b := protocol.Brain{ID: text.Draw(t, "id"), Name: text.Draw(t, "name")}
		extra := rapid.MapOf(text, text).Draw(t, "extra")
		delete(extra, "id")
		for key, value := range extra {
			raw, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if b.Extra == nil {
				b.Extra = map[string]json.RawMessage{}
			}
			b.Extra["x"+key] = raw
		}
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back protocol.Brain
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, back); diff != "" {
			t.Fatal(diff)
		}
	})
}
