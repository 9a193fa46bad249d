package daemon_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	daemonclient "evalctl/daemon/client"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/httpstore"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
)

// configOf returns the configuration of a daemon with a store of its own.
func configOf(t *testing.T, kind string) daemon.Config {
	t.Helper()
	cfg := daemon.Config{Store: kind, Reader: llm.NewFake(), ReaderModel: llm.FakeModel, AllowPrivateFetch: true}
	switch kind {
	case daemon.StoreFS, daemon.StoreGit:
		cfg.Home = t.TempDir()
	case daemon.StorePostgres:
		cfg.Store = postgrestest.Database(t)
	}
	return cfg
}

// onEveryStore runs a test on a daemon of each kind, with a brain eval. Calling restart starts the
// daemon again, unless it keeps everything in memory. The daemon may fetch pages of this machine.
func onEveryStore(t *testing.T, test func(t *testing.T, d running, restart func() running)) {
	for _, kind := range []string{daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit} {
		t.Run(kind, func(t *testing.T) {
			cfg := configOf(t, kind)
			d := serve(t, cfg)
			d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"id":"eval"}`)
			test(t, d, func() running {
				if kind == daemon.StoreMemory {
					return d
				}
				if err := d.stop(); err != nil {
					t.Fatal(err)
				}
				d = serve(t, cfg)
				return d
			})
		})
	}
}

// brain returns a client of the brain eval.
func (r running) brain(t *testing.T) *daemonclient.Brain {
	t.Helper()
	c, err := daemonclient.New(r.url, nil)
	check(t, err)
	t.Cleanup(c.Close)
	return c.Brain("eval")
}

const recordsPath = "/v1/brains/eval/documents"

// record requests the record of a document and checks what must hold for any.
func (r running) record(t *testing.T, path string) protocol.DocumentRecord {
	t.Helper()
	body := r.expect(t, 200, "GET", recordsPath+"/"+url.PathEscape(path), "", "")
	var fields map[string]any
	var got protocol.DocumentRecord
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"brain_id", "byte_size", "checksum_sha256", "commit_sha", "content_type", "created_at", "deleted_at",
		"id", "metadata", "path", "source", "title", "updated_at",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	text := r.expect(t, 200, "GET", recordsPath+"/read?path="+url.QueryEscape(path), "", "")
	if got.ID != path || got.Path != path || got.BrainID != "eval" || got.ByteSize != len(text) || got.DeletedAt != nil {
		t.Errorf("%s of %d bytes has the record %s", path, len(text), body)
	}
	return got
}

// TestRecordFollowsItsDocument: a record changes with its document, whichever operation changes
// that, and is the same after a restart.
func TestRecordFollowsItsDocument(t *testing.T) {
	onEveryStore(t, func(t *testing.T, d running, restart func() running) {
		d.expect(t, 201, "POST", recordsPath, "application/json",
			`{"content":"# Tea\n\ngreen","path":"a/tea.md","tags":["t 1","t2"],"source":"extract","metadata":{"n":1.5,"s":"x","b":false,"z":null}}`)
		created := d.record(t, "a/tea.md")
		want := map[string]any{"tags": "t 1,t2", "n": 1.5, "s": "x", "b": false, "z": nil}
		if diff := cmp.Diff(want, created.Metadata); diff != "" || created.Title != "Tea" || created.Source != "extract" {
			t.Errorf("created %+v\n%s", created, diff)
		}

		d.expect(t, 204, "POST", recordsPath+"/append?path=a/tea.md", octets, "\n\nblack")
		appended := d.record(t, "a/tea.md")
		if appended.ByteSize != created.ByteSize+len("\n\nblack") || appended.ChecksumSHA256 == created.ChecksumSHA256 ||
			appended.CommitSHA == created.CommitSHA || appended.CreatedAt != created.CreatedAt || appended.UpdatedAt < created.UpdatedAt {
			t.Errorf("appended %+v to %+v", appended, created)
		}
		if diff := cmp.Diff(want, appended.Metadata); diff != "" {
			t.Error(diff)
		}

		d.expect(t, 204, "POST", recordsPath+"/rename", "application/json", `{"from":"a/tea.md","to":"b/cup.md"}`)
		renamed := d.record(t, "b/cup.md")
		moved := appended
		moved.ID, moved.Path, moved.UpdatedAt = "b/cup.md", "b/cup.md", renamed.UpdatedAt
		if diff := cmp.Diff(moved, renamed); diff != "" {
			t.Error(diff)
		}
		d.expect(t, 404, "GET", recordsPath+"/a%2Ftea.md", "", "")
		d = restart()
		if diff := cmp.Diff(renamed, d.record(t, "b/cup.md")); diff != "" {
			t.Error(diff)
		}

		d.expect(t, 204, "PUT", recordsPath+"?path=b/cup.md", octets, "---\ntags: [new]\nsource: reflect\n---\n## Cup of ## \n")
		put := d.record(t, "b/cup.md")
		if diff := cmp.Diff(map[string]any{"tags": "new"}, put.Metadata); diff != "" || put.Title != "Cup of" || put.Source != "reflect" ||
			put.CreatedAt != put.UpdatedAt {
			t.Errorf("put %+v\n%s", put, diff)
		}
		d.expect(t, 200, "POST", recordsPath+"/batch-ops", "application/json",
			`{"ops":[{"type":"rename","path":"b/cup.md","to":"c.md"},{"type":"append","path":"c.md","content_base64":"IQ=="}]}`)
		if got := d.record(t, "c.md"); got.ByteSize != put.ByteSize+1 || got.Title != "Cup of" {
			t.Errorf("after a batch: %+v", got)
		}
		d.expect(t, 204, "DELETE", recordsPath+"?path=c.md", "", "")
		d.expect(t, 404, "GET", recordsPath+"/c.md", "", "")
		d = restart()
		if got := d.expect(t, 200, "GET", recordsPath, "", ""); got != "{\"items\":[]}\n" {
			t.Errorf("left over: %s", got)
		}
	})
}

// TestRecordsOfARemoteBrain: the operations also work on a brain whose store is another daemon's.
func TestRecordsOfARemoteBrain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, d running, restart func() running) {
		remote, err := daemonclient.New(d.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer remote.Close()
		brains, err := brain.Open(t.Context(), brain.Config{
			Catalog: new(brain.MemoryCatalog),
			OpenStore: func(_ context.Context, r brain.Record) (*store.Store, error) {
				return httpstore.Open(remote.Brain(r.Brain.ID), nil), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer brains.Close()
		memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := brains.Create(t.Context(), "", protocol.CreateBrain{ID: "eval"}); err != nil {
			t.Fatal(err)
		}
		h, err := brains.Find("eval")
		if err != nil {
			t.Fatal(err)
		}
		got, err := memories.CreateDocument(t.Context(), h, protocol.CreateDocument{Content: "# Tea\n", Tags: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.record(t, "tea.md"), got); diff != "" {
			t.Error(diff)
		}
		_, err = memories.CreateDocument(t.Context(), h, protocol.CreateDocument{Content: "x", Path: "tea.md"})
		if err == nil || !strings.Contains(err.Error(), "tea.md exists") {
			t.Errorf("created twice: %v", err)
		}
		if err := memories.DeleteDocument(t.Context(), h, "tea.md"); err != nil {
			t.Error(err)
		}
		d.expect(t, 404, "GET", recordsPath+"/tea.md", "", "")
	})
}
