package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

func TestIngestFile(t *testing.T) {
	c, _ := start(t)
	brain := c.Brain("eval")
	file := protocol.IngestFile{
		Path: "sea/wal\"rus ü.txt", ContentType: "text/plain; charset=utf-8", Title: "The Sea", Tags: []string{"a", "b c"},
		Content: []byte("walrus\r\n--boundary--\x7f"),
	}
	r, err := brain.IngestFile(t.Context(), file)
	check(t, err)
	if r.Path != file.Path+".md" || r.Reused || r.ChunkCount != 1 {
		t.Errorf("got %+v", r)
	}
	record, err := brain.Document(t.Context(), r.DocumentID)
	check(t, err)
	if record.Title != "The Sea" || record.Metadata["tags"] != "a,b c" || record.Metadata["source_name"] != "wal\"rus ü.txt" {
		t.Errorf("record %+v", record)
	}
	again, err := brain.IngestFile(t.Context(), file)
	if check(t, err); !again.Reused || again.Hash != r.Hash {
		t.Errorf("got %+v", again)
	}

	queued, err := brain.IngestFile(t.Context(), protocol.IngestFile{Path: "big.txt", Content: bytes.Repeat([]byte("walrus \n"), 1<<18+1)})
	if check(t, err); queued.Status != protocol.IngestQueued {
		t.Fatalf("got %+v", queued)
	}
	awaittest.Until(t, "the job", func() bool {
		job, err := brain.Job(t.Context(), queued.JobID)
		check(t, err)
		return job.Status == protocol.JobCompleted
	})
	if _, err := brain.Job(t.Context(), "none"); !client.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if _, err := brain.Job(t.Context(), ""); client.Code(err) != protocol.CodeValidation {
		t.Errorf("got %v", err)
	}
}

func TestIngestFileErrors(t *testing.T) {
	c, _ := start(t)
	brain := c.Brain("eval")
	for name, test := range map[string]struct {
		file protocol.IngestFile
		code string
		sent bool
	}{
		"one byte above": {protocol.IngestFile{Path: "a.txt", Content: make([]byte, protocol.MaxIngestBytes+1)}, protocol.CodeFileTooLarge, false},
		"long path":      {protocol.IngestFile{Path: strings.Repeat("a", 1025), Content: []byte("x")}, protocol.CodeValidation, false},
		"65 tags":        {protocol.IngestFile{Path: "a.txt", Tags: make([]string, 65), Content: []byte("x")}, protocol.CodeValidation, false},
		"empty":          {protocol.IngestFile{Path: "a.txt"}, protocol.CodeValidation, true},
		"unknown kind":   {protocol.IngestFile{Path: "a.exe", Content: []byte("MZ\x00")}, protocol.CodeUnsupportedMediaType, true},
		"header in type": {protocol.IngestFile{Path: "a.txt", ContentType: "text/x\r\nX-Y: z", Content: []byte("x")}, protocol.CodeUnsupportedMediaType, true},
	} {
		_, err := brain.IngestFile(t.Context(), test.file)
		e, ok := errors.AsType[*client.Error](err)
		if !ok || client.Code(err) != test.code || e.NotSent == test.sent {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := c.Brain("none").IngestFile(t.Context(), protocol.IngestFile{Path: "a.txt", Content: []byte("x")})
	if !client.IsNotFound(err) || client.IsUnsupported(err) || !strings.Contains(err.Error(), "no such brain") {
		t.Errorf("missing brain: got %v", err)
	}
}

// TestIngestFileFallback: a daemon without forms gets JSON with both spellings, and unknown keys of
// its response are kept.
func TestIngestFileFallback(t *testing.T) {
	for _, status := range []int{404, 405, 415} {
		var body map[string]any
		c := stub(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/v1/brains/eval/ingest/file") {
				_, _ = io.Copy(io.Discard, r.Body)
				http.Error(w, "no such route", status)
				return
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, `{"path":"x.md","status":"completed","pages": [1, 2],"Path":"y"}`)
		})
		r, err := c.Brain("eval").IngestFile(t.Context(), protocol.IngestFile{Path: "a.pdf", ContentType: "application/pdf", Content: []byte("%PDF")})
		check(t, err)
		if r.Path != "x.md" || string(r.Extra["pages"]) != "[1, 2]" || string(r.Extra["Path"]) != `"y"` || len(r.Extra) != 2 {
			t.Errorf("got %+v", r)
		}
		want := `{"contentBase64":"JVBERg==","contentType":"application/pdf","content_base64":"JVBERg==","content_type":"application/pdf","path":"a.pdf"}`
		if got, _ := json.Marshal(body); string(got) != want {
			t.Errorf("sent %s", got)
		}
	}
}

// TestIngestFileFallbackErrors: what the second endpoint says about the request is returned, and
// otherwise what the first says.
func TestIngestFileFallbackErrors(t *testing.T) {
	for _, test := range []struct {
		first, second int
		want          int
		requests      int
	}{{404, 400, 400, 2}, {405, 404, 405, 2}, {400, 200, 400, 1}, {413, 200, 413, 1}, {500, 200, 500, 1}, {404, 415, 404, 2}} {
		requests := 0
		c := stub(t, nil, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.WriteHeader([]int{0, test.first, test.second}[requests])
		})
		_, err := c.Brain("eval").IngestFile(t.Context(), protocol.IngestFile{Path: "a.txt", Content: []byte("x")})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != test.want || requests != test.requests {
			t.Errorf("%+v: got %v after %d requests", test, err, requests)
		}
	}
}

func TestIsUnsupported(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   bool
	}{
		{404, "404 page not found", true},
		{404, "", true},
		{404, `{"title":"Not Found","detail":"Route POST:/v1/brains/brain/documents/ingest/url not found"}`, true},
		{404, `{"title":"No such endpoint"}`, true},
		{404, `{"title":"No such brain","code":"not_found"}`, false},
		{404, `{"detail":"brain eval does not exist"}`, false},
		{404, `{"code":"no_brain"}`, false},
		{405, "", true},
		{501, "", true},
		{400, `{"code":"not_implemented"}`, true},
		{400, "", false},
		{500, "", false},
		{403, "", false},
	} {
		c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		})
		_, err := c.Brain("brain").IngestURL(t.Context(), protocol.IngestURL{URL: "https://example.com/"})
		if err == nil || client.IsUnsupported(err) != test.want {
			t.Errorf("%d %s: got %v", test.status, test.body, client.IsUnsupported(err))
		}
	}
	if client.IsUnsupported(nil) || client.IsUnsupported(io.EOF) {
		t.Error("other errors are unsupported endpoints")
	}
	c := stub(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	if _, err := c.Brain("b").IngestURL(t.Context(), protocol.IngestURL{URL: strings.Repeat("a", 8193)}); client.Code(err) != protocol.CodeValidation {
		t.Errorf("got %v", err)
	}
}
