package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

const records = "/v1/brains/eval/documents"

var asJSON = []string{"Content-Type", protocol.TypeJSON}

func (s *server) record(t testing.TB, status int, method, target, body string) protocol.DocumentRecord {
	t.Helper()
	r := decoded[protocol.DocumentRecord](t, s.expect(t, status, method, target, body, asJSON...))
	return r
}

func TestRecordOverHTTP(t *testing.T) {
	s := startFake(t)
	resp := s.do(t, "POST", records, `{"content":"# Pets\n\nTwo cats.","path":"home/pets.md","tags":["pets","home"],"metadata":{"n":2,"seen":null}}`, asJSON...)
	resp.Body.Close()
	location := resp.Header.Get("Location")
	if want := records + "/home%2Fpets.md"; resp.StatusCode != 201 || location != want || resp.Header.Get("Cache-Control") != "" {
		t.Fatalf("got %d, Location %q, want %q, Cache-Control %q", resp.StatusCode, location, want, resp.Header.Get("Cache-Control"))
	}
	got := s.record(t, 200, "GET", location, "")
	text := s.expect(t, 200, "GET", records+"/read?path=home/pets.md", "")
	if got.ByteSize != len(text) || !strings.HasSuffix(text, "# Pets\n\nTwo cats.") {
		t.Errorf("byte_size is %d of %q", got.ByteSize, text)
	}
	want := map[string]any{"tags": "pets,home", "n": 2.0, "seen": nil}
	if diff := cmp.Diff(want, got.Metadata); diff != "" || got.Title != "Pets" || got.DeletedAt != nil {
		t.Errorf("%+v\n%s", got, diff)
	}
	answer := s.expect(t, 200, "GET", records, "")
	list := decoded[protocol.DocumentList](t, answer)
	if diff := cmp.Diff([]protocol.DocumentRecord{got}, list.Items); diff != "" {
		t.Error(diff)
	}
	readDocument(t).check(t, schemaRef("DocumentList"), answer)
	s.expect(t, 204, "DELETE", location, "")
	s.expect(t, 404, "GET", location, "")
	s.expect(t, 404, "DELETE", location, "")
	s.expect(t, 404, "DELETE", records+"?document_id=home%2Fpets.md", "")
	if got := s.expect(t, 200, "GET", records, ""); got != "{\"items\":[]}\n" {
		t.Errorf("empty brain: %s", got)
	}
}

func TestDeleteByEither(t *testing.T) {
	s := startFake(t)
	s.put(t, "a.md", "one")
	s.expect(t, 400, "DELETE", records+"?path=a.md&document_id=a.md", "")
	s.expect(t, 204, "DELETE", records+"?documentId=a.md", "")
	s.expect(t, 404, "GET", records+"/a.md", "")
}

func TestRecordPages(t *testing.T) {
	s := startFake(t)
	for i := range 5 {
		s.put(t, fmt.Sprintf("n%d.md", i), "x")
	}
	s.put(t, "_hidden.md", "x")
	var met []string
	for cursor := ""; ; {
		page := decoded[protocol.DocumentList](t, s.expect(t, 200, "GET", records+"?limit=2&cursor="+url.QueryEscape(cursor), ""))
		for _, r := range page.Items {
			met = append(met, r.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if got := strings.Join(met, " "); got != "n0.md n1.md n2.md n3.md n4.md" {
		t.Error(got)
	}
	s.expect(t, 400, "GET", records+"?limit=10001", "")
	s.expect(t, 400, "GET", records+"?limit=many", "")
}

func TestRecordLimitsOverHTTP(t *testing.T) {
	s := startFake(t)
	long := func(n int) string { return strings.Repeat("ä", n) }
	for name, tt := range map[string]struct {
		status int
		body   string
		header []string
	}{
		"longest content":  {201, `{"content":"` + long(protocol.MaxDocumentContent) + `"}`, asJSON},
		"escaped content":  {201, `{"content":"` + strings.Repeat(`\u00e4`, protocol.MaxDocumentContent) + `"}`, asJSON},
		"long content":     {413, `{"content":"` + long(protocol.MaxDocumentContent+1) + `"}`, asJSON},
		"long title":       {400, `{"content":"x","title":"` + long(protocol.MaxDocumentTitle+1) + `"}`, asJSON},
		"no content":       {400, `{"title":"x"}`, asJSON},
		"content a number": {400, `{"content":1}`, asJSON},
		"wrong type":       {415, `{"content":"x"}`, []string{"Content-Type", octets}},
		"list in metadata": {400, `{"content":"x","metadata":{"a":[1]}}`, asJSON},
		"rounded number":   {400, `{"content":"x","metadata":{"id":9007199254740993}}`, asJSON},
		"endless number":   {400, `{"content":"x","metadata":{"id":1e999}}`, asJSON},
		"path of another":  {409, `{"content":"x","path":"a.md"}`, asJSON},
		"bad path":         {400, `{"content":"x","path":"../a.md"}`, asJSON},
		"not JSON":         {400, `{`, asJSON},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(tt.body) > 1<<20 {
				t.Skip("one large text at a time: nothing is concurrent that other tests do not run")
			}
			s := s
			if tt.status == 409 {
				s = startFake(t)
				s.put(t, "a.md", "mine")
			}
			s.expect(t, tt.status, "POST", records, tt.body, tt.header...)
		})
	}
	s.expect(t, 404, "POST", "/v1/brains/missing/documents", `{"content":"x"}`, asJSON...)
}

// The response to a raw write says in a header what its record says in problems.
func TestProblemsOfWrites(t *testing.T) {
	s := startFake(t)
	for text, want := range map[string]bool{"---\ndate: 05/08/2024\n---\nx": true, "---\ndate: 2024-05-08\n---\nx": false, "x": false} {
		resp := s.do(t, "PUT", records+"?path=raw/documents/a.md", text, "Content-Type", protocol.TypeBytes)
		resp.Body.Close()
		got := resp.Header.Get("Document-Problem")
		if resp.StatusCode != http.StatusNoContent || strings.HasPrefix(got, "date: it cannot be read") != want || want == (got == "") {
			t.Errorf("%q: %d, the problem is %q", text, resp.StatusCode, got)
		}
	}
}
