package httpapi

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
)

// FuzzReadIngest: every body is a file or a request error, never more than the limits.
func FuzzReadIngest(f *testing.F) {
	body, contentType := form(f, "title", "T", "tags", "a,b", "file a.txt text/plain", "walrus")
	f.Add(contentType, body)
	f.Add("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=file\r\n\r\nwalrus\r\n--x--")
	f.Add("application/json", `{"path":"a.txt","contentBase64":"eA==","content_base64":"eA==","tags":["a"]}`)
	f.Add("application/json", `{"path":null,"content_base64":null}`)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		file, err := readIngest(httptest.NewRecorder(), r)
		if err != nil {
			if !isA[*requestError](err) && !errors.Is(err, memory.ErrFileTooLarge) {
				t.Errorf("got %v", err)
			}
			return
		}
		if len(file.Content) > protocol.MaxIngestBytes || len(file.Path)+len(file.Title)+len(file.As) > maxFormFields {
			t.Errorf("got %d bytes at %q", len(file.Content), file.Path)
		}
	})
}
