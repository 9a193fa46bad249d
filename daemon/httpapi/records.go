package httpapi

import (
	"net/http"
	"net/url"

	"evalctl/daemon/protocol"
)

// maxRecordBody is enough for the longest content with each character of the Basic Multilingual
// Plane escaped.
const maxRecordBody = 32 << 20

// listsPaths reports whether a listing is one of paths, not of records (spec 4.2, notes).
func (q query) listsPaths() bool {
	for _, name := range []string{"dir", "recursive", "include_generated", "glob"} {
		if _, ok := q[name]; ok {
			return true
		}
	}
	return false
}

func (a *API) createRecord(w http.ResponseWriter, r *http.Request) error {
	if err := requireType(r, protocol.TypeJSON, false); err != nil {
		return err
	}
	body, err := readBody(w, r, maxRecordBody)
	if err != nil {
		return err
	}
	var create protocol.CreateDocument
	if err := decode(body, nil, &create); err != nil {
		return err
	}
	record, err := a.memory.CreateDocument(r.Context(), brainOf(r), create)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/brains/"+record.BrainID+"/documents/"+url.PathEscape(record.ID))
	return writeJSON(w, http.StatusCreated, record)
}

func (a *API) listRecords(w http.ResponseWriter, r *http.Request, q query) error {
	page, err := q.page()
	if err != nil {
		return err
	}
	list, err := a.memory.Documents(r.Context(), brainOf(r), page)
	return replyJSON(w, http.StatusOK, list, err)
}

func (a *API) getRecord(w http.ResponseWriter, r *http.Request) error {
	record, err := a.memory.Document(r.Context(), brainOf(r), r.PathValue("document_id"))
	return replyJSON(w, http.StatusOK, record, err)
}

func (a *API) deleteRecord(w http.ResponseWriter, r *http.Request) error {
	err := a.memory.DeleteDocument(r.Context(), brainOf(r), r.PathValue("document_id"))
	return replyEmpty(w, http.StatusNoContent, err)
}
