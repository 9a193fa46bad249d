package daemon_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
)

// TestBrainsSurviveRestart: everything that is said of brains, their slugs and the default brain
// are as before.
func TestBrainsSurviveRestart(t *testing.T) {
	for _, kind := range []string{daemon.StoreFS, daemon.StoreGit} {
		t.Run(kind, func(t *testing.T) {
			cfg := daemon.Config{Home: t.TempDir(), Store: kind, Reader: llm.NewFake(), ReaderModel: llm.FakeModel}
			d := serve(t, cfg)
			for _, body := range []string{
				`{"name":"Second notes","visibility":"tenant"}`,
				`{"name":"Ärger","slug":"anger","visibility":"public"}`,
				`{"id":"aaa","slug":"last","name":"Last"}`,
			} {
				d.expect(t, 201, "POST", "/v1/brains", "application/json", body)
				time.Sleep(2 * time.Millisecond) // created_at counts milliseconds
			}
			d.expect(t, 204, "PUT", "/v1/brains/last/documents?path=a.md", octets, "walrus")
			before := d.expect(t, 200, "GET", "/v1/brains", "", "")
			if err := d.stop(); err != nil {
				t.Fatal(err)
			}
			d = serve(t, cfg)
			if diff := cmp.Diff(before, d.expect(t, 200, "GET", "/v1/brains", "", "")); diff != "" {
				t.Error(diff)
			}
			var list protocol.BrainList
			if err := json.Unmarshal([]byte(before), &list); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				list.Items[i].CreatedAt = time.Time{}
			}
			want := protocol.BrainList{DefaultBrainID: new("second-notes"), Items: []protocol.Brain{
				{ID: "aaa", Slug: "last", Name: "Last", Visibility: protocol.VisibilityPrivate},
				{ID: "anger", Slug: "anger", Name: "Ärger", Visibility: protocol.VisibilityPublic},
				{ID: "second-notes", Slug: "second-notes", Name: "Second notes", Visibility: protocol.VisibilityTenant},
			}}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Error(diff)
			}
			if got := d.expect(t, 200, "GET", "/v1/brains/last/documents/read?path=a.md", "", ""); got != "walrus" {
				t.Errorf("read %q", got)
			}
		})
	}
}

func TestDefaultBrainIsConfigured(t *testing.T) {
	d := serve(t, daemon.Config{
		Reader: llm.NewFake(), ReaderModel: llm.FakeModel, Options: httpapi.Options{DefaultBrain: "second"},
	})
	for _, tt := range []struct{ body, want string }{
		{`{"id":"first"}`, ""}, {`{"id":"b2","slug":"second"}`, "b2"},
	} {
		d.expect(t, 201, "POST", "/v1/brains", "application/json", tt.body)
		var list protocol.BrainList
		if err := json.Unmarshal([]byte(d.expect(t, 200, "GET", "/v1/brains", "", "")), &list); err != nil {
			t.Fatal(err)
		}
		if got := *list.DefaultBrainID; got != tt.want {
			t.Errorf("after %s: got %q, want %q", tt.body, got, tt.want)
		}
	}
}
