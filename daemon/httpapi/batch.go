package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// batchDocuments applies ops as they were sent, all or none (spec 4.2).
func (a *API) batchDocuments(w http.ResponseWriter, r *http.Request) error {
	st, err := a.store(r)
	if err != nil {
		return err
	}
	if err := requireType(r, protocol.TypeJSON, false); err != nil {
		return err
	}
	body, err := readBody(w, r, maxBatchBody)
	if err != nil {
		return err
	}
	commit, err := decodeBatch(body)
	if err != nil {
		return err
	}
	committed := len(commit.Ops)
	if err := st.Apply(r.Context(), commit); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, protocol.BatchResult{Committed: committed})
}

// decodeBatch decodes op by op and stops at the first that passes a limit.
func decodeBatch(body []byte) (store.Commit, error) {
	fields, err := fold("the body", body, nil, nil)
	if err != nil {
		return store.Commit{}, err
	}
	var c store.Commit
	for name, into := range map[string]*string{"reason": &c.Reason, "message": &c.Message, "author": &c.Author, "email": &c.Email} {
		if err := decodeString(fields, name, into); err != nil {
			return c, err
		}
		if len(*into) > protocol.MaxBatchText {
			return c, refuse(errTooLarge, "%s exceeds %d bytes", name, protocol.MaxBatchText)
		}
	}
	ops, ok := fields["ops"]
	if !ok {
		return c, refuse(errInvalid, "ops is missing")
	}
	dec := json.NewDecoder(bytes.NewReader(ops))
	if token, err := dec.Token(); err != nil || token != json.Delim('[') {
		return c, refuse(errInvalid, "ops is not an array")
	}
	total := 0
	for dec.More() {
		if len(c.Ops) == protocol.MaxBatchOps {
			return c, refuse(errTooLarge, "the batch has more than %d ops", protocol.MaxBatchOps)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return c, jsonError(err)
		}
		op, err := decodeOp(raw)
		if err != nil {
			return c, refuse(errInvalid, "op %d: %v", len(c.Ops), err)
		}
		if total += len(op.Data); total > protocol.MaxBatchBytes {
			return c, refuse(errTooLarge, "op %d: the batch exceeds %d bytes after base64 decoding", len(c.Ops), protocol.MaxBatchBytes)
		}
		c.Ops = append(c.Ops, op)
	}
	return c, nil
}

func decodeOp(raw json.RawMessage) (store.Op, error) {
	fields, err := fold("the body", raw, nil, nil)
	if err != nil {
		return store.Op{}, err
	}
	var op store.Op
	var kind string
	if err := requireString(fields, "type", &kind); err != nil {
		return op, err
	}
	if err := requireString(fields, "path", &op.Path); err != nil {
		return op, err
	}
	op.Kind = store.OpKind(kind)
	switch op.Kind {
	case store.OpDelete:
	case store.OpRename:
		err = requireString(fields, "to", &op.To)
	case store.OpWrite, store.OpAppend:
		var content string
		if err := requireString(fields, "content_base64", &content); err != nil {
			return op, err
		}
		if op.Data, err = base64.StdEncoding.DecodeString(content); err != nil {
			return op, refuse(errInvalid, "content_base64: %v", err)
		}
	default:
		return op, refuse(errInvalid, "type %q is not one of write, append, delete, rename", kind)
	}
	return op, err
}

func requireString(fields map[string]json.RawMessage, name string, into *string) error {
	if _, ok := fields[name]; !ok {
		return refuse(errInvalid, "%s is missing", name)
	}
	return decodeString(fields, name, into)
}

// decodeString leaves into alone when the key is missing.
func decodeString(fields map[string]json.RawMessage, name string, into *string) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return refuse(errInvalid, "%s must be a string", name)
	}
	return nil
}
