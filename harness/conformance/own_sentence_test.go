package conformance

import (
	"net/http"
	"testing"
	"unicode/utf8"

	ct "evalctl/harness/conformance/conformancetest"
)

// A check is broken by what contradicts its own sentence, and not by a defect next to it.
func TestOwnSentence(t *testing.T) {
	create, batch, putRoute := route("POST /documents"), route("POST /documents/batch-ops"), route("PUT /documents")
	titled := func(change func(title string) string) wrapper {
		return before(create, func(r *http.Request) {
			editBody(r, func(o map[string]any) {
				if title, ok := o["title"].(string); ok {
					o["title"] = change(title)
				}
			})
		})
	}
	isLong := func(most int, length func(string) int) func(*http.Request) bool {
		return func(r *http.Request) bool {
			if !create(r) {
				return false
			}
			title, _ := bodyObject(r)["title"].(string)
			return length(title) > most
		}
	}
	gzipBody := and(putRoute, withHeader("Content-Encoding"))
	const missing, base64, title, packed = "batch-atomic-delete-missing", "batch-atomic-base64-invalid", "records-title-512", "limits-gzip"
	for _, tt := range []struct {
		name, check string
		wrap        wrapper
		want        Verdict
	}{
		{"no deletion of missing documents fails", missing, mutantNamed(t, "batch-missing-ignored").wrap, NotJudged},
		{"batches fail with 500", missing, after(batch, changeStatus(404, 500)), Kept},
		{"batches fail with 409", missing, after(batch, changeStatus(404, 409)), Kept},
		{"batches are not atomic", missing, splitBatch(), Broken},
		{"no content fails", base64, mutantNamed(t, "batch-base64-tolerated").wrap, NotJudged},
		{"batches fail with 422", base64, after(batch, changeStatus(400, 422)), Kept},
		{"batches are not atomic", base64, splitBatch(), Broken},
		{"no POST of documents", title, ct.FailingIf(create, 404), NotJudged},
		{"titles from headings", title, titled(func(string) string { return "Heading" }), NotJudged},
		{"no response has the title", title, after(create, func(_ *http.Request, a *captured) {
			a.Edit(func(o map[string]any) { delete(o, "title") })
		}), NotJudged},
		{"titles of 255 characters", title, ct.FailingIf(isLong(255, utf8.RuneCountInString), 400), Broken},
		{"titles of 512 bytes", title, ct.FailingIf(isLong(512, func(s string) int { return len(s) }), 422), Broken},
		{"titles are cut", title, titled(func(s string) string { return s[:min(len(s), 256)] }), Broken},
		{"no gzip, with 400", packed, ct.FailingIf(gzipBody, 400), Kept},
		{"no gzip, with 501", packed, ct.FailingIf(gzipBody, 501), Broken},
		{"stored and returned as gzip", packed, ct.ReturnGzip(), Kept},
		{"PUT returns 200", packed, after(putRoute, changeStatus(204, 200)), Kept},
		{"no PUT is stored", packed, replace(putRoute, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(204) }), NotJudged},
		{"reads fail", packed, ct.Failing("GET /documents/read", 500), NotJudged},
		{"stored as bytes", packed, mutantNamed(t, "gzip-packed").wrap, Broken},
		{"gzip is lost", packed, replace(gzipBody, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(204) }), Broken},
	} {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only = []string{tt.check}
			r := run(t, o)
			if res := r.Results[0]; res.Verdict != tt.want {
				t.Errorf("%s %s: %s", res.Verdict, res.Reason, res.Detail)
			}
		})
	}
}
