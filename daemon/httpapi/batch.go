package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// batchDocuments applies ops in order, all or none (spec 4.2).
func (a *API) batchDocuments(w http.ResponseWriter, r *http.Request) error {
	st, err := a.store(r)
	if err != nil {
		return err
	}
	if err := requireType(r, protocol.TypeJSON, false); err != nil {
		return err
	}
	body, err := openBody(w, r, maxBatchBody)
	if err != nil {
		return err
	}
	commit, err := decodeBatch(body)
	if err != nil {
		if r.Close {
			// net/http resets such a connection after the response, and a client that is still
			// sending would not receive it.
			_, _ = io.Copy(io.Discard, body)
		}
		return err
	}
	if err := requestOf(r).begin(r.Context()); err != nil {
		return err
	}
	committed := len(commit.Ops)
	changed, transcripts := changedBy(commit.Ops)
	if err = a.apply(r.Context(), st, commit); err == nil {
		a.changed(r, changed, transcripts)
	}
	return replyJSON(w, http.StatusOK, protocol.BatchResult{Committed: committed}, err)
}

// changedBy returns the paths at which operations replace, move or delete documents, and those that
// may have a transcript now. A rename may move what another operation has written.
func changedBy(ops []store.Op) (paths, transcripts []string) {
	for _, op := range ops {
		switch op.Kind {
		case store.OpAppend:
			continue
		case store.OpRename:
			paths, transcripts = append(paths, op.Path, op.To), append(transcripts, op.To)
			continue
		}
		if paths = append(paths, op.Path); memory.MayBeTranscript(op.Data) {
			transcripts = append(transcripts, op.Path)
		}
	}
	return paths, transcripts
}

// decodeBatch reads one op after the other, and stops at the first one that it rejects.
func decodeBatch(body io.Reader) (store.Commit, error) {
	const where = "the body"
	dec := json.NewDecoder(fullReader{transform.NewReader(body, encoding.UTF8Validator)})
	var c store.Commit
	texts, given := map[string]*string{}, false
	err := eachKey(dec, where, nil, func(key, _ string) error {
		switch key {
		case "reason", "message", "author", "email":
			if err := readText(dec, key, texts); err != nil {
				return err
			}
			if text := texts[key]; text != nil && len(*text) > protocol.MaxBatchText {
				return requestErrorf(errTooLarge, "%s exceeds %d bytes", key, protocol.MaxBatchText)
			}
			return nil
		case "ops":
			if given {
				return requestErrorf(errInvalid, "ops is given twice")
			}
			given = true
			var err error
			c.Ops, err = decodeOps(dec)
			return err
		}
		return skip(dec)
	})
	if err != nil {
		return c, err
	}
	if !given {
		return c, requestErrorf(errInvalid, "ops is missing")
	}
	for key, into := range map[string]*string{
		"reason": &c.Reason, "message": &c.Message, "author": &c.Author, "email": &c.Email,
	} {
		if _, ok := texts[key]; !ok {
			continue
		}
		if *into, err = needText(texts, key); err != nil {
			return c, err
		}
	}
	return c, expectEnd(dec, where)
}

// fullReader fills the buffer of each Read, except at the end. A json.Decoder scans white space
// again after each Read, so many short reads of a body of spaces would take quadratic time.
type fullReader struct{ src io.Reader }

func (f fullReader) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.src, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

func decodeOps(dec *json.Decoder) ([]store.Op, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, jsonError(err)
	}
	if token != json.Delim('[') {
		return nil, requestErrorf(errInvalid, "ops is not an array")
	}
	var ops []store.Op
	for total := 0; dec.More(); {
		if len(ops) == protocol.MaxBatchOps {
			return nil, requestErrorf(errTooLarge, "the batch has more than %d ops", protocol.MaxBatchOps)
		}
		op, err := decodeOp(dec)
		if e, ok := errors.AsType[*requestError](err); ok {
			return nil, requestErrorf(e.kind, "op %d: %s", len(ops), e.detail)
		}
		if err != nil {
			return nil, err
		}
		if total += len(op.Data); total > protocol.MaxBatchBytes {
			return nil, requestErrorf(errTooLarge, "op %d: the batch exceeds %d bytes after base64 decoding",
				len(ops), protocol.MaxBatchBytes)
		}
		ops = append(ops, op)
	}
	if _, err := dec.Token(); err != nil {
		return nil, jsonError(err)
	}
	return ops, nil
}

func decodeOp(dec *json.Decoder) (store.Op, error) {
	var op store.Op
	texts := map[string]*string{}
	err := eachKey(dec, "the op", nil, func(key, _ string) error {
		switch key {
		case "type", "path", "to", "content_base64":
			return readText(dec, key, texts)
		}
		return skip(dec)
	})
	if err != nil {
		return op, err
	}
	kind, err := needText(texts, "type")
	if err != nil {
		return op, err
	}
	if op.Path, err = needText(texts, "path"); err != nil {
		return op, err
	}
	op.Kind = store.OpKind(kind)
	switch op.Kind {
	case store.OpDelete:
	case store.OpRename:
		if op.To, err = needText(texts, "to"); err == nil {
			err = writable(op.To)
		}
	case store.OpWrite, store.OpAppend:
		if err := writable(op.Path); err != nil {
			return op, err
		}
		var content string
		if content, err = needText(texts, "content_base64"); err != nil {
			return op, err
		}
		if op.Data, err = base64.StdEncoding.DecodeString(content); err != nil {
			return op, requestErrorf(errInvalid, "content_base64: %v", err)
		}
	default:
		return op, requestErrorf(errInvalid,
			"type %.64q is not one of write, append, delete, rename", kind)
	}
	return op, err
}

// writable is memory.CheckWritable for an op.
func writable(path string) error {
	if err := memory.CheckWritable(path); err != nil {
		return requestErrorf(errInvalid, "%v", err)
	}
	return nil
}

// readText reads the value of a key into texts. It must be a string or null.
func readText(dec *json.Decoder, key string, texts map[string]*string) error {
	var text *string
	var err error
	if isPath(key) {
		var value json.RawMessage
		if value, err = readRaw(dec, key); err == nil {
			err = json.Unmarshal(value, &text)
		}
	} else {
		err = dec.Decode(&text) // not through a copy of it, which may be large
	}
	if isA[*json.UnmarshalTypeError](err) {
		return notText(key)
	}
	if err != nil {
		return jsonError(err)
	}
	earlier, twice := texts[key]
	if twice && (text == nil || earlier == nil || *text != *earlier) {
		return givenTwice(key)
	}
	texts[key] = text
	return nil
}

// needText returns a text that must be neither missing nor null.
func needText(texts map[string]*string, key string) (string, error) {
	text, ok := texts[key]
	switch {
	case !ok:
		return "", requestErrorf(errInvalid, "%s is missing", key)
	case text == nil:
		return "", notText(key)
	}
	return *text, nil
}

func notText(key string) error { return requestErrorf(errInvalid, "%s must be a string", key) }
