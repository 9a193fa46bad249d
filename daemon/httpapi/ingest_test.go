package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

const ingestTarget = "/v1/brains/eval/documents/ingest/file"

// form builds a form of name, value pairs. A name of the form "file NAME TYPE" is a file.
func form(t testing.TB, pairs ...string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		header := textproto.MIMEHeader{}
		if words := strings.Fields(pairs[i]); words[0] == "file" {
			header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, words[1]))
			if len(words) > 2 {
				header.Set("Content-Type", words[2])
			}
		} else {
			header.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q`, pairs[i]))
		}
		part, err := w.CreatePart(header)
		if err == nil {
			_, err = part.Write([]byte(pairs[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func (s *server) ingestForm(t testing.TB, status int, pairs ...string) protocol.IngestResponse {
	t.Helper()
	body, contentType := form(t, pairs...)
	return decoded[protocol.IngestResponse](t, s.expect(t, status, "POST", ingestTarget, body, "Content-Type", contentType))
}

func (s *server) ingestJSON(t testing.TB, status int, body string) protocol.IngestResponse {
	t.Helper()
	return decoded[protocol.IngestResponse](t, s.expect(t, status, "POST", ingestTarget, body, "Content-Type", "application/json"))
}

func TestIngestForm(t *testing.T) {
	s := startFake(t)
	r := s.ingestForm(t, 201, "title", "The Sea", "tags", "a, b,", "tags", "c", "unknown", "x", "file sea.txt text/plain", "walrus")
	if r.Path != "raw/documents/sea.txt.md" || r.ChunkCount != 1 || r.Reused {
		t.Errorf("got %+v", r)
	}
	doc := frontmatter.Parse(s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+r.Path, ""))
	if doc.Title != "The Sea" || strings.Join(doc.Tags, "|") != "a|b|c" || doc.Metadata["source_name"] != "sea.txt" {
		t.Errorf("got %+v", doc.Fields)
	}
	if again := s.ingestForm(t, 200, "path", "x/y.txt", "file sea.txt text/plain", "walrus"); !again.Reused || again.Path != r.Path {
		t.Errorf("got %+v", again)
	}
	r = s.ingestForm(t, 201, "file ignored.bin application/octet-stream", "# Plan", "path", "notes/plan", "as", "markdown")
	if r.Path != "notes/plan.md" {
		t.Errorf("got %+v", r)
	}
	r = s.ingestForm(t, 201, "contentType", "application/json", "file data application/octet-stream", `{"a":1}`)
	if r.Path != "raw/documents/data.md" {
		t.Errorf("got %+v", r)
	}
	// A client cannot leave the folder with the name of a file: only its last segment counts.
	r = s.ingestForm(t, 201, "file ../../etc/passwd.txt", "root")
	if r.Path != "raw/documents/passwd.txt.md" {
		t.Errorf("got %+v", r)
	}
}

// TestCutForms: a form that does not arrive whole stores nothing, also if its file does.
func TestCutForms(t *testing.T) {
	s := startFake(t)
	body, contentType := form(t, "file a.txt text/plain", "walrus")
	zipped := zip(t, []byte(body))
	changed := []byte(zipped)
	changed[len(changed)-8] ^= 1 // in the checksum
	for n := 1; n <= 8; n++ {
		s.expect(t, 400, "POST", ingestTarget, zipped[:len(zipped)-n], "Content-Type", contentType, "Content-Encoding", "gzip")
	}
	s.expect(t, 400, "POST", ingestTarget, string(changed), "Content-Type", contentType, "Content-Encoding", "gzip")
	end := strings.TrimSuffix(body, "--\r\n")
	for n := range 4 {
		s.expect(t, 400, "POST", ingestTarget, end[:len(end)-n], "Content-Type", contentType)
	}
	if list := s.expect(t, 200, "GET", "/v1/brains/eval/documents", ""); strings.Contains(list, "a.txt") {
		t.Error(list)
	}
	s.expect(t, 201, "POST", ingestTarget, zipped, "Content-Type", contentType, "Content-Encoding", "gzip")
}

func TestIngestJSON(t *testing.T) {
	s := startFake(t)
	content := base64.StdEncoding.EncodeToString([]byte("walrus"))
	r := s.ingestJSON(t, 201, `{"path":"a/sea.txt","contentType":"text/plain","title":"T","tags":["x","y"],"contentBase64":"`+content+`","more":[1]}`)
	if r.Path != "a/sea.txt.md" {
		t.Errorf("got %+v", r)
	}
	body := s.expect(t, 200, "POST", "/v1/brains/eval/ingest/file",
		`{"content_base64":"`+content+`","contentBase64":"`+content+`","path":"b.txt","content_type":"text/plain","contentType":"text/plain","tags":["x"]}`,
		"Content-Type", "application/json")
	if again := decoded[protocol.IngestResponse](t, body); !again.Reused || again.Path != r.Path {
		t.Errorf("got %+v", again)
	}
	resp := s.do(t, "POST", ingestTarget, `{"path":"new ö.txt","content_base64":"bmV3"}`, "Content-Type", "application/json")
	resp.Body.Close()
	if got := resp.Header.Get("Location"); resp.StatusCode != 201 || got != "/v1/brains/eval/documents/raw%2Fdocuments%2Fnew%20%C3%B6.txt.md" {
		t.Errorf("Location %q", got)
	}
	s.expect(t, 200, "GET", resp.Header.Get("Location"), "")
}

func TestIngestRejections(t *testing.T) {
	s := startFake(t)
	content := base64.StdEncoding.EncodeToString([]byte("walrus"))
	multi := func(pairs ...string) [2]string {
		body, contentType := form(t, pairs...)
		return [2]string{body, contentType}
	}
	js := func(body string) [2]string { return [2]string{body, "application/json"} }
	for name, test := range map[string]struct {
		body   [2]string
		status int
		code   string
		detail string
	}{
		"other type":         {[2]string{"walrus", "text/plain"}, 415, "unsupported_media_type", "multipart/form-data"},
		"no type":            {[2]string{"walrus", ""}, 415, "unsupported_media_type", "multipart/form-data"},
		"no boundary":        {[2]string{"walrus", "multipart/form-data"}, 415, "unsupported_media_type", "boundary"},
		"no parts":           {[2]string{"", "multipart/form-data; boundary=x"}, 400, "validation_error", "part file"},
		"cut form":           {[2]string{"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nwal", "multipart/form-data; boundary=x"}, 400, "validation_error", "EOF"},
		"no file":            {multi("path", "a.txt"), 400, "validation_error", "part file"},
		"empty file":         {multi("file a.txt", ""), 400, "validation_error", "file: is empty"},
		"two files":          {multi("file a.txt", "x", "file b.txt", "y"), 400, "validation_error", "file is given twice"},
		"two paths":          {multi("path", "a.txt", "path", "b.txt", "file a.txt", "x"), 400, "validation_error", "path is given twice"},
		"both spellings":     {multi("content_type", "text/plain", "contentType", "text/html", "file a.txt", "x"), 400, "validation_error", "content_type is given twice"},
		"bad path":           {multi("path", "../a.txt", "file a.txt", "x"), 400, "validation_error", "dot segment"},
		"unknown kind":       {multi("file a.exe", "MZ\x00"), 415, "unsupported_media_type", ".exe"},
		"image":              {multi("file a.txt image/png", "x"), 415, "unsupported_media_type", "image/png"},
		"unknown as":         {multi("as", "docx", "file a.txt", "x"), 400, "validation_error", "docx"},
		"not a PDF":          {multi("file a.pdf", "walrus"), 400, "validation_error", "file"},
		"not JSON inside":    {multi("file a.json", "walrus"), 400, "validation_error", "file"},
		"too many parts":     {multi(append(strings.Split(strings.Repeat("tags,a,", maxFormParts), ",")[:2*maxFormParts], "file a.txt", "x")...), 413, "payload_too_large", "parts"},
		"65 tags":            {multi("tags", strings.Repeat("a,", 65), "file a.txt", "x"), 400, "validation_error", "tags"},
		"large field":        {multi("title", strings.Repeat("a", maxFormFields+1), "file a.txt", "x"), 413, "payload_too_large", "fields"},
		"no JSON":            {js("walrus"), 400, "validation_error", "not valid JSON"},
		"a list":             {js("[]"), 400, "validation_error", "object"},
		"cut JSON":           {js(`{"path":"a.txt","content_base64":"d2`), 400, "validation_error", "ends too early"},
		"two values":         {js(`{"path":"a.txt","content_base64":"` + content + `"}{}`), 400, "validation_error", "more than one"},
		"not base64":         {js(`{"path":"a.txt","content_base64":"%%%"}`), 400, "validation_error", "content_base64: illegal base64"},
		"a number":           {js(`{"path":"a.txt","content_base64":5}`), 400, "validation_error", "content_base64 must not be a number"},
		"tags as text":       {js(`{"path":"a.txt","tags":"x","content_base64":"` + content + `"}`), 400, "validation_error", "tags must not be a string"},
		"no content":         {js(`{"path":"a.txt"}`), 400, "validation_error", "content_base64 is missing"},
		"empty content":      {js(`{"path":"a.txt","content_base64":""}`), 400, "validation_error", "file: is empty"},
		"no path":            {js(`{"content_base64":"` + content + `"}`), 400, "validation_error", "path: is missing"},
		"different contents": {js(`{"path":"a.txt","content_base64":"` + content + `","contentBase64":"eA=="}`), 400, "validation_error", "content_base64 is given twice"},
		"not UTF-8":          {js("{\"path\":\"a\xff.txt\",\"content_base64\":\"" + content + "\"}"), 400, "validation_error", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			body := s.expect(t, test.status, "POST", ingestTarget, test.body[0], "Content-Type", test.body[1])
			wantProblem(t, body, test.code, test.detail)
		})
	}
	if list := s.expect(t, 200, "GET", "/v1/brains/eval/documents?recursive=true&include_generated=true", ""); list != `{"items":[]}`+"\n" {
		t.Errorf("rejected requests stored %s", list)
	}
}

// TestIngestLimit: 25 MiB are accepted, one byte more is not, however it is sent.
func TestIngestLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one large text at a time: nothing is concurrent that other tests do not run")
	}
	s := startFake(t)
	exact := bytes.Repeat([]byte("walrus \n"), protocol.MaxIngestBytes/8)
	over := append(exact[:len(exact):len(exact)], 'x')
	formOf := func(data []byte) (string, string) { return form(t, "file big.txt", string(data)) }
	jsonOf := func(data []byte) (string, string) {
		return `{"path":"big.txt","content_base64":"` + base64.StdEncoding.EncodeToString(data) + `"}`, "application/json"
	}
	for name, encode := range map[string]func([]byte) (string, string){"form": formOf, "JSON": jsonOf} {
		for _, zipped := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " zipped=", zipped), func(t *testing.T) {
				send := func(status int, data []byte) string {
					body, contentType := encode(data)
					headers := []string{"Content-Type", contentType}
					if zipped {
						body, headers = zip(t, []byte(body)), append(headers, "Content-Encoding", "gzip")
					}
					return s.expect(t, status, "POST", ingestTarget, body, headers...)
				}
				wantProblem(t, send(413, over), protocol.CodeFileTooLarge, "")
			})
		}
	}
	body, contentType := formOf(exact)
	r := decoded[protocol.IngestResponse](t, s.expect(t, 202, "POST", ingestTarget, body, "Content-Type", contentType))
	job := s.awaitJob(t, r.JobID)
	if job.Status != protocol.JobCompleted {
		t.Errorf("got %+v", job)
	}
}

func (s *server) awaitJob(t testing.TB, id string) (job protocol.Job) {
	t.Helper()
	awaittest.Until(t, "the job "+id, func() bool {
		job = protocol.Job{}
		if err := json.Unmarshal([]byte(s.expect(t, 200, "GET", "/v1/brains/eval/jobs/"+id, "")), &job); err != nil {
			t.Fatal(err)
		}
		return job.Status == protocol.JobCompleted || job.Status == protocol.JobFailed
	})
	return job
}

// TestIngestBomb: a small body that decompresses to a large one is rejected at the limit.
func TestIngestBomb(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one large text at a time: nothing is concurrent that other tests do not run")
	}
	s := startFake(t)
	for name, begin := range map[string]string{
		"spaces": " ",
		"file":   "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nx",
	} {
		contentType := map[string]string{"spaces": "application/json", "file": "multipart/form-data; boundary=x"}[name]
		got := s.expect(t, 413, "POST", ingestTarget, bomb(t, begin), "Content-Type", contentType, "Content-Encoding", "gzip")
		if !strings.Contains(got, protocol.CodeFileTooLarge) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// bomb returns more than 300 MiB, compressed: a text, then its last byte again and again.
func bomb(t *testing.T, begin string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	part, rest := begin, strings.Repeat(begin[len(begin)-1:], 1<<20)
	for range 301 {
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
		part = rest
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
