package requirements

import (
	"context"
	"net/http"

	"evalctl/daemon/protocol"
)

func ownIngestShapeChecks() []check {
	return []check{
		should("ingest-file-status", "4.1", "Ingest of a file returns 200, 201 or 202.",
			expect(plainFile, 0, statusIn(200, 201, 202))),
		should("ingest-form", "4.1", "A file may be sent as multipart/form-data.",
			send(plainFile), expect(formOf("form.md", "# Form\n\nA form.\n"), 0, isSuccess)),
		should("ingest-reused", "2", "The same file again is reused, under the same document_id.", ingestTwice),
		should("ingest-changed-not-reused", "2", "A file with the same name and other bytes is not reused.",
			send(plainFile), expect(ingestOf("samovar.md", samovarText+"It is old.\n"), 0, given2xx, ingestedNot("reused"))),
	}
}

func ownIngestKindChecks() []check {
	const walrusPage = "<!doctype html><html><head><title>Walrus</title><script>var hidden = 1</script></head>" +
		"<body><nav>Home</nav><article><h1>The walrus</h1><p>The walrus sleeps on the ice, and wakes in the evening " +
		"when the others come back from the sea.</p><p>It eats clams.</p></article></body></html>"
	return []check{
		should("ingest-html-found", "4.1", "A search finds the text of an ingested HTML file.",
			setup(expectIngested(plainFile)), expectIngested(ingestOf("page.html", walrusPage)), awaitAnyPath("walrus")),
		should("ingest-markdown-content", "4.1", "An ingested Markdown file can be read at the path of its response.",
			ingestThen(plainFile, func(o object) step {
				p, _ := o["path"].(string)
				return expect(readOf(p), 200, bodyContains("The samovar is made of copper."))
			})),
		should("ingest-as", "4.1", "as takes precedence over the extension.",
			ingestThen(ingestOf("notes.txt", "<p>The <b>heron</b> waits.</p>", "as", "html"), func(o object) step {
				p, _ := o["path"].(string)
				return expect(readOf(p), 200, bodyLacks("<b>"))
			})),
		should("ingest-same-name", "4.1", "Two files with the same name and other bytes do not lose text without a word.",
			setup(expectIngested(plainFile), expectIngested(ingestOf("samovar.md", "# Samovar\n\nThe teapot is blue.\n"))),
			awaitAnyPath("teapot")),
	}
}

func ownIngestRejectChecks() []check {
	none := expectListing([]string{"recursive", "true"})
	rejected := func(id, what string, r request, statuses ...int) check {
		return should("ingest-"+id, "4.1", what+" is rejected and stores nothing.",
			inOtherBrain(send(plainFile)), expect(r, 0, statusIn(statuses...)), none)
	}
	return []check{
		rejected("pdf-broken", "A PDF that is not one", ingestOf("broken.pdf", "no PDF at all"), 400, 415, 422),
		rejected("json-broken", "A JSON file that is not valid", ingestOf("broken.json", `{"a":`), 400, 415, 422),
		rejected("as-unknown-400", "A file with an unknown as", ingestOf("a.md", "x", "as", "spreadsheet"), 400),
		rejected("extension-unknown", "A file of an unknown type", ingestOf("a.xyz", "\x00\x01\x02"), 400, 415, 422),
		rejected("content-missing-400", "An ingest without content",
			brainRequest("POST", "/documents/ingest/file").withJSON(object{"path": "a.md"}), 400),
		rejected("base64-invalid-400", "An ingest whose content is not base64",
			brainRequest("POST", "/documents/ingest/file").
				withJSON(object{"path": "a.md", "content_base64": "%%%", "contentBase64": "%%%"}), 400),
	}
}

// ingestURLChecks use addresses that no daemon may fetch for a client, although a page may refer to
// them.
func ingestURLChecks() []check {
	rows := []struct{ id, what, address string }{
		{"metadata", "the metadata service of a cloud", "http://169.254.169.254/latest/meta-data/"},
		{"loopback", "the daemon's own machine", "http://127.0.0.1:9/"},
		{"loopback-6", "the daemon's own machine, as an IPv6 address", "http://[::1]:9/"},
		{"private", "a private network", "http://10.0.0.1:9/"},
		{"mapped", "a loopback address that is mapped to IPv6", "http://[::ffff:127.0.0.1]:9/"},
		{"file", "a file", "file:///etc/passwd"},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, should("ingest-url-"+r.id, "4.1", "The URL of "+r.what+" is rejected with 400 or 403.",
			expect(ingestURLOf(r.address), 0, statusIn(400, 403))))
	}
	return append(checks,
		should("ingest-url-missing-400", "4.1", "An ingest of a URL without the URL is rejected with 400.",
			expect(ingestURLOf(nil), 400)),
		should("ingest-url-relative-400", "4.1", "An ingest of a relative URL is rejected with 400.",
			expect(ingestURLOf("page.html"), 400)),
	)
}

func ownIngestLimitChecks() []check {
	return []check{
		should("ingest-25mib-over-413", "8", "A file of 26,214,401 bytes is rejected with 413.",
			expectForm(protocol.MaxIngestBytes+1, statusIn(413))),
		should("ingest-25mib-over-code", "7.3", "The code for a file above 26,214,400 bytes is file_too_large.",
			expectForm(protocol.MaxIngestBytes+1, given(413), jsonField("code", equals(protocol.CodeFileTooLarge)))),
		should("ingest-queued-completes", "3", "A file that is queued is ingested in the end.",
			lazily(func(*client) step {
				return queuedCompletes(formOf("long.txt", textOfSize(3<<20)+"The ostrich runs.\n"))
			})),
	}
}

func ingestURLOf(address any) request {
	return brainRequest("POST", "/documents/ingest/url").withJSON(object{"url": address})
}

var ingestTwice = ingestTwo(plainFile, func(first, second object) error {
	return matchFields(second, map[string]matcher{
		"reused": equals(true), "document_id": equals(first["document_id"]), "hash": equals(first["hash"])})
})

// queuedCompletes ingests a file that a daemon may queue, and waits for its job.
func queuedCompletes(r request) step {
	return func(ctx context.Context, c *client) error {
		res, err := c.get(ctx, r, 0, given2xx)
		if err != nil {
			return err
		}
		o, err := res.object()
		if err != nil || o["status"] != protocol.IngestQueued {
			return optional("queued files: an ingest of 3 MiB was completed at once")
		}
		return c.run(ctx, expectJobCompleted(o), awaitIndexed("ostrich"))
	}
}

// awaitIndexed is awaitAnyPath for a daemon that answers searches with 503 until it has indexed
// much text.
func awaitIndexed(query string) step {
	search := func(ctx context.Context, c *client) (*response, error) {
		return c.do(ctx, searchOf(object{"query": query}))
	}
	ready := func(r *response) bool { return r.status != http.StatusServiceUnavailable }
	late := func(_ *client, last *response) error { return brokenf("search for %q: got %s", query, last) }
	return inTurn(await(indexedWithin, search, ready, late), awaitAnyPath(query))
}

func expectJobCompleted(o object) step {
	return func(ctx context.Context, c *client) error {
		id, _ := o["job_id"].(string)
		if id == "" {
			return brokenf("want a job_id for the status queued, got %s", excerpt(encode(o)))
		}
		job, done, err := c.endedJob(ctx, id)
		switch {
		case err != nil:
			return err
		case !done:
			return brokenf("job %s: want the status completed in %v, got %v: %w",
				id, c.target.within(ingestedWithin), job["status"], errSilence)
		case job["status"] != protocol.JobCompleted:
			return brokenf("job %s: want the status completed, got %s", id, excerpt(encode(job)))
		}
		return nil
	}
}
