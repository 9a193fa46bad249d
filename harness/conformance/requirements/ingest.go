package requirements

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

// ingestedWithin is how long a daemon may take to ingest a file that it queued.
const ingestedWithin = 20 * time.Second

// The specification names the endpoint and the response, but not the request. This one has the keys
// of all known dialects.
func ingestOf(name, content string, more ...any) request {
	return brainRequest("POST", "/documents/ingest/file").withJSON(withFields(object{
		"path": name, "content_base64": []byte(content), "contentBase64": []byte(content),
	}, more...))
}

// formOf is the request as a form.
func formOf(name, content string) request {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, _ := form.CreateFormFile("file", name) // to memory, cannot fail
	_, _ = part.Write([]byte(content))
	_ = form.Close()
	return brainRequest("POST", "/documents/ingest/file").withBody(form.FormDataContentType(), b.String())
}

const samovarText = "# Samovar\n\nThe samovar is made of copper.\n"

var plainFile = ingestOf("samovar.md", samovarText)

// ingested is a response of a completed ingest. A queued one leaves the check not judged.
func ingested(name string, m matcher) assertion {
	return ofObject(func(o object) error {
		if o["status"] == protocol.IngestQueued {
			return optional("a completed ingest: it was queued")
		}
		return matchField(o, name, m)
	})
}

func ingestShapeChecks() []check {
	field := func(name string, m matcher) step { return expect(plainFile, 0, given2xx, ingested(name, m)) }
	return []check{
		must("ingest-status", "2", "The status of an IngestResponse is completed or queued, or missing.",
			expect(plainFile, 0, given2xx, ofObject(func(o object) error {
				if !slices.Contains([]any{nil, protocol.IngestCompleted, protocol.IngestQueued}, o["status"]) {
					return fmt.Errorf("want the status completed or queued, or none, got %v", o["status"])
				}
				return nil
			}))),
		must("ingest-document-id", "2", "A completed IngestResponse has a document_id.",
			field("document_id", isNonEmptyString)),
		must("ingest-path", "2", "A completed IngestResponse has a path.", field("path", isNonEmptyString)),
		must("ingest-hash", "2", "A completed IngestResponse has a hash.", field("hash", isNonEmptyString)),
		must("ingest-chunk-count", "2", "The chunk_count of an IngestResponse is a whole number from 0.",
			field("chunk_count", isCount)),
		must("ingest-embedded-count", "2", "The embedded_count of an IngestResponse is a whole number from 0.",
			field("embedded_count", isCount)),
		must("ingest-duration-ms", "2", "The duration_ms of an IngestResponse is a whole number from 0.",
			field("duration_ms", isCount)),
		must("ingest-snake-case", "2", "The keys of an IngestResponse are in snake_case.",
			expect(plainFile, 0, given2xx, bodyInSnakeCase)),
		should("ingest-not-reused", "2", "A file that is ingested for the first time is not reused.",
			expect(plainFile, 0, given2xx, ingestedNot("reused"))),
		should("ingest-hash-differs", "2", "Files with different bytes have different hashes.", hashesDiffer),
	}
}

// ingestedNot requires a field that is false or missing.
func ingestedNot(name string) assertion {
	return ofObject(func(o object) error {
		if o[name] != nil && o[name] != false {
			return fmt.Errorf("%s: want false, got %s", name, excerpt(encode(o[name])))
		}
		return nil
	})
}

// ingestThen ingests a file, waits until a queued one is done, and passes the IngestResponse on.
// Without one the check cannot be judged.
func ingestThen(r request, then func(object) step) step {
	return func(ctx context.Context, c *client) error {
		var o object
		ingest := func(ctx context.Context, c *client) (err error) {
			o, err = ingestDone(ctx, c, r)
			return err
		}
		return c.run(ctx, setup(ingest), lazily(func(*client) step { return then(o) }))
	}
}

func ingestDone(ctx context.Context, c *client, r request) (object, error) {
	res, err := c.get(ctx, r, 0, isSuccess)
	if err != nil {
		return nil, err
	}
	o, err := res.object()
	if err != nil || o["status"] != protocol.IngestQueued {
		return o, against(err)
	}
	id, _ := o["job_id"].(string)
	job, done, err := c.endedJob(ctx, id)
	result, ok := job["result"].(object)
	if err == nil && (!done || !ok) {
		// The specification does not say where a finished queued file is found.
		err = unjudgedError{ReasonObserve, fmt.Errorf("job %s: want a result in %v, got %s",
			id, c.target.within(ingestedWithin), excerpt(encode(job)))}
	}
	return result, err
}

// endedJob waits until a job is neither queued nor running. At the limit it returns false with the
// job's last state.
func (c *client) endedJob(ctx context.Context, id string) (job object, ended bool, err error) {
	ended, err = poll(ctx, c.target.within(ingestedWithin), func() (_ bool, err error) {
		job, err = c.job(ctx, id)
		return job["status"] != protocol.JobQueued && job["status"] != protocol.JobRunning, err
	})
	return job, ended, err
}

// job returns a job. The specification does not name the endpoint.
func (c *client) job(ctx context.Context, id string) (object, error) {
	res, err := c.get(ctx, brainRequest("GET", "/jobs/"+url.PathEscape(id)), 0, given(200))
	if err != nil {
		return nil, err
	}
	return res.object()
}

// ingestTwo ingests two files in turn and compares their IngestResponses.
func ingestTwo(second request, compare func(first, second object) error) step {
	return ingestThen(plainFile, func(first object) step {
		return ingestThen(second, func(second object) step {
			return func(context.Context, *client) error { return against(compare(first, second)) }
		})
	})
}

var hashesDiffer = ingestTwo(ingestOf("other.md", samovarText+"x"), func(first, second object) error {
	if first["hash"] == second["hash"] {
		return fmt.Errorf("want different hashes, got %v for both", first["hash"])
	}
	return nil
})

func ingestKindChecks() []check {
	rows := []struct{ id, what, name, content, word string }{
		{"markdown", "Markdown", "samovar.md", samovarText, "samovar"},
		{"text", "text", "pump.txt", "The pump is rusty.\n", "pump"},
		{"json", "JSON", "machine.json", `{"machine": "lathe", "state": "oiled"}`, "lathe"},
		{"pdf", "PDF", "otter.pdf", tinyPDF("The otter likes amber."), "otter"},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, should("ingest-"+r.id+"-found", "4.1", "A search finds the text of an ingested "+r.what+" file.",
			setup(expectIngested(plainFile)), expectIngested(ingestOf(r.name, r.content)), awaitAnyPath(r.word)))
	}
	return checks
}

// expectIngested requires a file to be accepted and, if it was queued, to be ingested.
func expectIngested(r request) step {
	return func(ctx context.Context, c *client) error {
		_, err := ingestDone(ctx, c, r)
		return err
	}
}

func ingestRejectChecks() []check {
	return []check{
		should("ingest-path-outside", "2", "A file whose name leads out of the brain is rejected, or stored inside.",
			inOtherBrain(send(plainFile)), expect(ingestOf("../../outside.md", "# Outside\n"), 0, outsideIsInside)),
	}
}

func outsideIsInside(r *response) error {
	o, err := r.object()
	p, _ := o["path"].(string)
	switch {
	case r.status >= 400 && r.status < 500:
		return nil
	case r.status >= 500 || err != nil || o["status"] == protocol.IngestQueued:
		return unobservable(r)
	case p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), ".."):
		return fmt.Errorf("want a path inside the brain, got %q", p)
	}
	return nil
}

func ingestLimitChecks() []check {
	return []check{
		should("ingest-25mib", "8", "A file may have 26,214,400 bytes.",
			expectForm(protocol.MaxIngestBytes, isSuccess)),
	}
}

// expectForm checks the response to a form with a file of n bytes. A small file must be accepted.
func expectForm(n int, assertions ...assertion) step {
	return inTurn(send(formOf("small.txt", "small")),
		lazily(func(*client) step { return expect(formOf("big.txt", textOfSize(n)), 0, assertions...) }))
}

// tinyPDF returns a one-page PDF with one line of text, which must not contain parentheses.
func tinyPDF(text string) string {
	stream := "BT /F1 18 Tf 72 700 Td (" + text + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R " +
			"/Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return b.String()
}
