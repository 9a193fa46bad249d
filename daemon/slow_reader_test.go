package daemon_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"evalctl/internal/postgres/postgrestest"
)

// TestSlowReader replaces a document while a client of a replica reads it slowly. The response is
// cut off, rather than continued with the bytes of another version.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	r := startReplicaOn(t, postgrestest.Database(t))
	r.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"notes"}`)
	const document = "/v1/brains/notes/documents?path=large"
	part, parts := string(bytes.Repeat([]byte("1"), 2<<20)), 12 // more than the connection buffers
	r.expect(http.StatusNoContent, "PUT", document, part)
	for range parts - 1 {
		r.expect(http.StatusNoContent, "POST", "/v1/brains/notes/documents/append?path=large", part)
	}
	res, err := http.Get(r.url + "/v1/brains/notes/documents/read?path=large")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.ContentLength != int64(len(part)*parts) {
		t.Fatalf("%s of %d bytes", res.Status, res.ContentLength)
	}
	r.expect(http.StatusNoContent, "PUT", document, "2")
	data, err := io.ReadAll(res.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(bytes.Trim(data, "1")) > 0 {
		t.Errorf("%d bytes, %v, want a part of the first version and an unexpected end", len(data), err)
	}
}
