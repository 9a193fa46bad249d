package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
)

const (
	typeForm = "multipart/form-data"
	// maxFormFields bounds everything in a form or object except the file, in bytes.
	maxFormFields = 1 << 20
	maxFormBody   = protocol.MaxIngestBytes + maxFormFields
	// maxIngestJSON is enough for the largest file in base64, under both spellings of its key.
	maxIngestJSON = 2*((protocol.MaxIngestBytes+2)/3*4) + maxFormFields
	// maxFormParts is more than any client needs: each tag may be a part.
	maxFormParts = 256
)

// ingestFile stores a file that is sent as a form, or in a JSON object (spec 4.1).
func (a *API) ingestFile(w http.ResponseWriter, r *http.Request) error {
	file, err := readIngest(w, r)
	if err != nil {
		return err
	}
	if err := requestOf(r).begin(r.Context()); err != nil {
		return err
	}
	response, err := a.memory.IngestFile(r.Context(), brainOf(r), file)
	if err != nil {
		return err
	}
	return a.writeIngested(w, r, response)
}

// ingestURL stores a web page, which the daemon fetches (spec 4.1).
func (a *API) ingestURL(w http.ResponseWriter, r *http.Request) error {
	var body protocol.IngestURL
	if err := decodeBody(w, r, nil, &body); err != nil {
		return err
	}
	response, err := a.memory.IngestURL(r.Context(), brainOf(r), body)
	if err != nil {
		return err
	}
	return a.writeIngested(w, r, response)
}

// writeIngested responds with the status for the outcome: queued, reused or created.
func (a *API) writeIngested(w http.ResponseWriter, r *http.Request, response protocol.IngestResponse) error {
	brain := "/v1/brains/" + brainOf(r).Brain().ID
	switch {
	case response.Status == protocol.IngestQueued:
		w.Header().Set("Location", brain+"/jobs/"+response.JobID)
		return writeJSON(w, http.StatusAccepted, response)
	case response.Reused:
		return writeJSON(w, http.StatusOK, response)
	}
	w.Header().Set("Location", brain+"/documents/"+url.PathEscape(response.DocumentID))
	return writeJSON(w, http.StatusCreated, response)
}

func readIngest(w http.ResponseWriter, r *http.Request) (protocol.IngestFile, error) {
	header := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(header)
	limit, read := int64(maxIngestJSON), readIngestJSON
	switch {
	case err == nil && media == typeForm && params["boundary"] != "":
		limit, read = maxFormBody, func(body io.Reader) (protocol.IngestFile, error) {
			f, err := readIngestForm(multipart.NewReader(body, params["boundary"]))
			if err == nil { // gzip has its checksum at the end, after the form
				if _, err = io.Copy(io.Discard, body); err != nil {
					err = formError(err)
				}
			}
			return f, err
		}
	case err != nil || media != protocol.TypeJSON:
		return protocol.IngestFile{}, requestErrorf(errMediaType,
			"Content-Type is %q, this endpoint accepts %s with a boundary, and %s", header, typeForm, protocol.TypeJSON)
	}
	body, err := openBody(w, r, limit)
	if err == nil {
		var file protocol.IngestFile
		if file, err = read(body); err == nil {
			return file, nil
		}
	}
	if r.Close && body != nil {
		// net/http resets such a connection after the response, and a client that is still sending
		// would not receive it.
		_, _ = io.Copy(io.Discard, body)
	}
	if errors.Is(err, errBodyTooLarge) {
		err = fileTooLarge()
	}
	return protocol.IngestFile{}, err
}

func fileTooLarge() error {
	return requestErrorf(memory.ErrFileTooLarge, "the file exceeds %d bytes", protocol.MaxIngestBytes)
}

// readIngestForm reads the part file and the fields path, title, tags, as and content_type.
func readIngestForm(form *multipart.Reader) (protocol.IngestFile, error) {
	var f protocol.IngestFile
	fields := map[string]*string{
		"path": &f.Path, "title": &f.Title, "as": &f.As, "content_type": &f.ContentType,
	}
	given, left := map[string]bool{}, maxFormFields
	name, contentType := "", ""
	for n := 0; ; n++ {
		part, err := form.NextRawPart()
		//nolint:errorlint // the error of a form that is cut wraps io.EOF
		if err == io.EOF || n == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f, formError(err)
		}
		if n == maxFormParts {
			return f, requestErrorf(errTooLarge, "the form has more than %d parts", maxFormParts)
		}
		key, _ := canonical(part.FormName(), nil)
		twice := given[key]
		given[key] = true
		switch {
		case key == "file":
			if twice {
				return f, givenTwice(key)
			}
			name, contentType = part.FileName(), part.Header.Get("Content-Type")
			if f.Content, err = readFile(part); err != nil {
				return f, err
			}
			continue
		case key != "tags" && fields[key] == nil:
			continue // NextRawPart skips the rest of the part
		}
		value, err := readField(part, &left)
		if err != nil {
			return f, err
		}
		if key == "tags" {
			f.Tags = append(f.Tags, splitTags(value)...)
			continue
		}
		if twice && *fields[key] != value {
			return f, givenTwice(key)
		}
		*fields[key] = value
	}
	if !given["file"] {
		return f, requestErrorf(errInvalid, "the form has no part file")
	}
	if f.Path == "" {
		f.Path = name
	}
	if f.ContentType == "" {
		f.ContentType = contentType
	}
	return f, nil
}

// readFile reads a file of a form, of at most MaxIngestBytes.
func readFile(part io.Reader) ([]byte, error) {
	var data bytes.Buffer
	n, err := data.ReadFrom(io.LimitReader(part, protocol.MaxIngestBytes+1))
	if n > protocol.MaxIngestBytes {
		return nil, fileTooLarge()
	}
	if err != nil {
		return nil, formError(err)
	}
	return data.Bytes(), nil
}

// readField reads a field. All fields together have at most maxFormFields bytes.
func readField(part io.Reader, left *int) (string, error) {
	value, err := io.ReadAll(io.LimitReader(part, int64(*left)+1))
	if err != nil {
		return "", formError(err)
	}
	if *left -= len(value); *left < 0 {
		return "", requestErrorf(errTooLarge, "the fields of the form exceed %d bytes", maxFormFields)
	}
	return string(value), nil
}

// formError describes why a form is rejected. It returns errors from reading the body unchanged.
func formError(err error) error {
	if e, ok := errors.AsType[*requestError](err); ok {
		return e
	}
	return requestErrorf(errInvalid, "the form cannot be read: %v", err)
}

// splitTags separates tags at commas.
func splitTags(value string) []string {
	var tags []string
	for tag := range strings.SplitSeq(value, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// readIngestJSON reads a protocol.IngestFile without holding all of the body. A key given twice
// must have the same value, as in decode.
func readIngestJSON(body io.Reader) (protocol.IngestFile, error) {
	const where = "the body"
	dec := json.NewDecoder(fullReader{transform.NewReader(body, encoding.UTF8Validator)})
	var f protocol.IngestFile
	given := map[string]bool{}
	err := eachKey(dec, where, nil, func(key, _ string) error {
		twice := given[key]
		given[key] = true
		switch key {
		case "path":
			return readValue(dec, key, &f.Path, twice)
		case "title":
			return readValue(dec, key, &f.Title, twice)
		case "as":
			return readValue(dec, key, &f.As, twice)
		case "content_type":
			return readValue(dec, key, &f.ContentType, twice)
		case "tags":
			return readValue(dec, key, &f.Tags, twice)
		case "content_base64":
			return readValue(dec, key, &f.Content, twice)
		}
		return skip(dec)
	})
	if err != nil {
		return f, err
	}
	if !given["content_base64"] {
		return f, requestErrorf(errInvalid, "content_base64 is missing")
	}
	return f, expectEnd(dec, where)
}

// readValue reads the value of a key. If the key was given before, into has that value.
func readValue[T any](dec *json.Decoder, key string, into *T, twice bool) error {
	var value T
	err := dec.Decode(&value)
	switch {
	case isA[*json.UnmarshalTypeError](err):
		e, _ := errors.AsType[*json.UnmarshalTypeError](err)
		return requestErrorf(errInvalid, "%s must not be a %s", key, e.Value)
	case isA[base64.CorruptInputError](err):
		return requestErrorf(errInvalid, "%s: %v", key, err)
	case err != nil:
		return jsonError(err)
	case twice && !reflect.DeepEqual(value, *into):
		return givenTwice(key)
	}
	*into = value
	return nil
}
