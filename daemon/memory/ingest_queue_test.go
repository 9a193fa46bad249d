package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"evalctl/daemon/convert"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

// large is a text above the limit of direct ingests.
func large(word string) string {
	return strings.Repeat(word+" lives in the sea.\n\n", maxDirectIngest/20+1)
}

func TestIngestLargeFile(t *testing.T) {
	for name, openStore := range allStores() {
		t.Run(name, func(t *testing.T) {
			f := openDir(t, t.TempDir(), openStore)
			text := large("walrus")
			r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "sea.txt", Content: []byte(text), Title: "The sea", Tags: []string{"x"}})
			if err != nil || r.Status != protocol.IngestQueued || r.JobID == "" || r.Hash != hashOf(text) || r.Path != "" {
				t.Fatalf("got %+v, %v", r, err)
			}
			j := f.await(t, r.JobID)
			var got protocol.IngestResponse
			if err := json.Unmarshal(j.Result, &got); err != nil || j.Status != protocol.JobCompleted || j.Kind != protocol.JobIngest {
				t.Fatalf("job %+v, %v", j, err)
			}
			if got.Path != "raw/documents/sea.txt.md" || got.Hash != r.Hash || got.ChunkCount < 100 || got.Reused {
				t.Errorf("got %+v", got)
			}
			doc := frontmatter.Parse(f.read(t, got.Path))
			if doc.Title != "The sea" || strings.Join(doc.Tags, "") != "x" || doc.Metadata["source_name"] != "sea.txt" {
				t.Errorf("front matter %+v", doc.Fields)
			}
			if f.read(t, originalPath(r.Hash, convert.Text)) != text {
				t.Error("the original is another file")
			}
			if list := f.files(t, ""); len(list) != 4 { // with the job, without its data
				t.Errorf("files %v", list)
			}
			again, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "b.txt", Content: []byte(text)})
			if err != nil || !again.Reused || again.Path != got.Path || again.Status != "" {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

// TestQueuedIngestAfterRestart: a queued file is ingested by the next process with the same result
// as a direct ingest.
func TestQueuedIngestAfterRestart(t *testing.T) {
	t.Parallel()
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := openDir(t, dir, openStore)
			f.Close() // starts no jobs
			text := large("walrus")
			r := f.ingestFile(t, "notes/sea.txt", text)
			if r.Status != protocol.IngestQueued {
				t.Fatalf("got %+v", r)
			}
			f.shutDown(t)
			f = openDir(t, dir, openStore)
			f.Resume(f.brain)
			if j := f.await(t, r.JobID); j.Status != protocol.JobCompleted {
				t.Fatalf("got %+v", j)
			}
			queued := f.read(t, "notes/sea.txt.md")

			direct := open(t)
			src, err := newSource(protocol.IngestFile{Path: "notes/sea.txt", Content: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := direct.ingest(t.Context(), direct.brain, direct.store(t), src, nil); err != nil {
				t.Fatal(err)
			}
			if want := direct.read(t, "notes/sea.txt.md"); queued != want {
				t.Errorf("queued %.300q\ndirect %.300q", queued, want)
			}
		})
	}
}

func TestLargeFileThatCannotBeConverted(t *testing.T) {
	f := open(t)
	r := f.ingestFile(t, "bad.json", `{"a":`+large("walrus"))
	j := f.await(t, r.JobID)
	if j.Status != protocol.JobFailed || j.Attempts != 1 || j.Error == nil || j.Error.Code != protocol.CodeValidation {
		t.Errorf("got %+v", j)
	}
	if list := f.files(t, ""); len(list) != 1 || list[0] != jobPath(r.JobID) {
		t.Errorf("files %v", list)
	}
}

// TestForgedIngestJob: a job that a client has written does no more than the client itself could.
func TestForgedIngestJob(t *testing.T) {
	f := open(t)
	f.put(t, "secret.md", "secret")
	for i, payload := range []string{
		`{"kind":"text","name":"x","path":"../../x.md","sha256":"` + hashOf("y") + `"}`,
		`{"kind":"text","name":"x","path":"secret.md/x.md"}`,
		`{"kind":"exe","name":"x","path":"x.md"}`,
		`{"kind":"text","name":"x","path":""}`,
		`[]`,
		`{"kind":"json","name":"x","path":"x.md"}`,
	} {
		id := fmt.Sprintf("0000000000001-%06d-x", i)
		f.put(t, jobDataPath(id), "walrus")
		f.put(t, jobPath(id), `{"id":"`+id+`","kind":"ingest","status":"queued","payload":`+payload+`}`)
		if j := f.await(t, id); j.Status != protocol.JobFailed || j.Attempts != 1 {
			t.Errorf("%s: got %+v", payload, j)
		}
	}
	id := "0000000000002-000000-x"
	f.put(t, jobPath(id), `{"id":"`+id+`","kind":"ingest","status":"queued","payload":{"kind":"text","name":"x","path":"x.md"}}`)
	if j := f.await(t, id); j.Status != protocol.JobFailed || j.Attempts != 1 {
		t.Errorf("without its file: %+v", j)
	}
	if f.read(t, "secret.md") != "secret" {
		t.Error("a document was changed")
	}
}
