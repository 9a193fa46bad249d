package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// encode gives v as one line of JSON with <, > and & as they are: bodies are
// never embedded in HTML. It panics on what JSON cannot hold, which is a bug.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	return writeBody(w, status, "application/json", encode(v))
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}
