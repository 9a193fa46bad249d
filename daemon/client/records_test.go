package client_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func TestRecords(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	made, err := b.CreateDocument(ctx, protocol.CreateDocument{
		Content: "# Pets\n\nTwo cäts.", Tags: []string{"pets", "home"},
		Metadata: map[string]any{"n": 2, "seen": nil}, Source: protocol.SourceExtract,
	})
	check(t, err)
	want := protocol.DocumentRecord{
		ID: "pets.md", BrainID: "eval", Title: "Pets", Path: "pets.md",
		Source: "extract", ContentType: "text/markdown",
		Metadata:  map[string]any{"tags": "pets,home", "n": 2.0, "seen": nil},
		CreatedAt: "2024-05-01T12:00:00.123Z", UpdatedAt: "2024-05-01T12:00:00.123Z",
		ByteSize: made.ByteSize, ChecksumSHA256: made.ChecksumSHA256, CommitSHA: made.CommitSHA,
	}
	diff := cmp.Diff(want, made)
	if diff != "" || len(made.ChecksumSHA256) != 64 || len(made.CommitSHA) != 40 {
		t.Errorf("%+v\n%s", made, diff)
	}
	data, err := b.Read(ctx, made.Path)
	if err != nil || made.ByteSize != len(data) || !strings.HasSuffix(string(data), "Two cäts.") {
		t.Errorf("byte_size is %d of %q, %v", made.ByteSize, data, err)
	}
	got, err := b.Document(ctx, made.ID)
	if diff := cmp.Diff(made, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = b.CreateDocument(ctx, protocol.CreateDocument{Content: "x", Path: made.Path})
	if client.Code(err) != protocol.CodeConflict {
		t.Errorf("a taken path: %v", err)
	}
	_, err = b.CreateDocument(ctx, protocol.CreateDocument{Content: "x", Path: "../x.md"})
	if client.Code(err) != protocol.CodeValidation {
		t.Errorf("a bad path: %v", err)
	}
	check(t, b.DeleteDocument(ctx, made.ID))
	if err := b.DeleteDocument(ctx, made.ID); !client.IsNotFound(err) {
		t.Errorf("deleted twice: %v", err)
	}
	_, err = c.Brain("none").CreateDocument(ctx, protocol.CreateDocument{Content: "x"})
	if !client.IsNotFound(err) {
		t.Errorf("no brain: %v", err)
	}
}

// TestRecordIDs: the id of a document addresses that document and nothing else, whatever its name.
func TestRecordIDs(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	paths := []string{"a b+c&d=e%2f?#.md", "ü/日本.md", "%2e%2e", "...", "documents/read", "append"}
	for _, path := range paths {
		check(t, b.Write(ctx, path, []byte(path)))
	}
	for _, path := range paths {
		got, err := b.Document(ctx, path)
		if err != nil || got.ID != path || got.ByteSize != len(path) {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	for _, id := range []string{".", "..", "../eval", "none", "ü", "\x00"} {
		if got, err := b.Document(ctx, id); !client.IsNotFound(err) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
		if err := b.DeleteDocument(ctx, id); !client.IsNotFound(err) {
			t.Errorf("delete %q: %v", id, err)
		}
	}
	for _, path := range paths {
		if err := b.DeleteDocument(ctx, path); err != nil {
			t.Errorf("delete %s: %v", path, err)
		}
	}
	list, err := b.Documents(ctx, client.DocumentPage{})
	if err != nil || len(list.Items) != 0 || list.NextCursor != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.Brain("eval").Info(ctx); err != nil {
		t.Errorf("the brain itself: %v", err)
	}
}

// TestRecordThatIsNotJSON: what cannot be sent is an error that names the request.
func TestRecordThatIsNotJSON(t *testing.T) {
	c, _ := start(t)
	_, err := c.Brain("eval").CreateDocument(t.Context(), protocol.CreateDocument{
		Content: "x", Metadata: map[string]any{"n": math.NaN()},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "POST /v1/brains/eval/documents: json: ") {
		t.Errorf("not a number: %v", err)
	}
}
