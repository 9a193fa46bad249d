package httpapi

import (
	"context"
	"net/http"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// document returns the store and the path that a request addresses.
func (a *API) document(r *http.Request) (*store.Store, string, error) {
	st, err := a.store(r)
	if err != nil {
		return nil, "", err
	}
	path, err := pathParam(r)
	return st, path, err
}

func (a *API) readDocument(w http.ResponseWriter, r *http.Request) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	content, size, err := st.Open(r.Context(), path)
	if err != nil {
		return err
	}
	defer content.Close()
	requestOf(r).end() // the client may take long to read, and nothing of it is held in memory
	return writeFrom(w, http.StatusOK, protocol.TypeBytes, size, content)
}

func (a *API) statDocument(w http.ResponseWriter, r *http.Request) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	info, err := st.Stat(r.Context(), path)
	return replyJSON(w, http.StatusOK, fileInfo(info), err)
}

func (a *API) headDocument(w http.ResponseWriter, r *http.Request) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	_, err = st.Stat(r.Context(), path)
	return replyEmpty(w, http.StatusOK, err)
}

func (a *API) listDocuments(w http.ResponseWriter, r *http.Request) error {
	st, err := a.store(r)
	if err != nil {
		return err
	}
	q, err := parseQuery(r, nil)
	if err != nil {
		return err
	}
	if !q.listsPaths() {
		return a.listRecords(w, r, q)
	}
	opts := store.ListOptions{Glob: q["glob"]}
	if opts.Recursive, err = q.flag("recursive"); err != nil {
		return err
	}
	if opts.IncludeGenerated, err = q.flag("include_generated"); err != nil {
		return err
	}
	page, err := q.page()
	if err != nil {
		return err
	}
	files, err := st.List(r.Context(), q["dir"], opts)
	if err != nil {
		return err
	}
	var list protocol.FileList
	if files, list.NextCursor, err = page.Of(files); err != nil {
		return err
	}
	list.Items = make([]protocol.FileInfo, len(files))
	for i, f := range files {
		list.Items[i] = fileInfo(f)
	}
	return writeJSON(w, http.StatusOK, list)
}

func fileInfo(f store.FileInfo) protocol.FileInfo {
	return protocol.FileInfo{
		Path: f.Path, Size: f.Size, MTime: protocol.FormatTime(f.ModTime), IsDir: f.IsDir,
	}
}

func (a *API) writeDocument(w http.ResponseWriter, r *http.Request) error {
	return a.putBytes(w, r, func(st *store.Store, ctx context.Context, path string, data []byte) error {
		if err := st.Write(ctx, path, data); err != nil {
			return err
		}
		changed, transcripts := []string{path}, []string(nil)
		if memory.MayBeTranscript(data) {
			transcripts = changed
		}
		a.changed(r, changed, transcripts)
		for _, problem := range memory.Problems(path, data) {
			w.Header().Add(problemHeader, problem)
		}
		return nil
	})
}

// changed follows up a commit of a request, see memory.Changed. The client may have gone while the
// change was committed.
func (a *API) changed(r *http.Request, paths, transcripts []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.deadline)
	defer cancel()
	a.memory.Changed(ctx, brainOf(r), paths, transcripts)
}

// problemHeader reports a problem of a written document. The response to a write has no body.
const problemHeader = "Document-Problem"

func (a *API) appendDocument(w http.ResponseWriter, r *http.Request) error {
	return a.putBytes(w, r, (*store.Store).Append)
}

func (a *API) putBytes(
	w http.ResponseWriter, r *http.Request,
	put func(*store.Store, context.Context, string, []byte) error,
) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	if err := memory.CheckWritable(path); err != nil {
		return err
	}
	if err := requireType(r, protocol.TypeBytes, false); err != nil {
		return err
	}
	data, err := readBody(w, r, protocol.MaxWriteBytes)
	if err != nil {
		return err
	}
	return replyEmpty(w, http.StatusNoContent, put(st, r.Context(), path, data))
}

func (a *API) deleteDocument(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, nil)
	if err != nil {
		return err
	}
	path, byPath := q["path"]
	id, byID := q["document_id"]
	switch {
	case byPath == byID:
		return requestErrorf(errInvalid, "give one of the query parameters path and document_id")
	case byID:
		return replyEmpty(w, http.StatusNoContent, a.memory.DeleteDocument(r.Context(), brainOf(r), id))
	}
	return replyEmpty(w, http.StatusNoContent, a.memory.Delete(r.Context(), brainOf(r), path))
}

func (a *API) renameDocument(w http.ResponseWriter, r *http.Request) error {
	st, err := a.store(r)
	if err != nil {
		return err
	}
	if err := requireType(r, protocol.TypeJSON, false); err != nil {
		return err
	}
	var body struct {
		From *string `json:"from"`
		To   *string `json:"to"`
	}
	if err := decodeBody(w, r, nil, &body); err != nil {
		return err
	}
	if body.From == nil || body.To == nil {
		return requestErrorf(errInvalid, "from and to are both required")
	}
	if err := memory.CheckWritable(*body.To); err != nil {
		return err
	}
	err = st.Rename(r.Context(), *body.From, *body.To)
	if err == nil {
		a.changed(r, []string{*body.From, *body.To}, []string{*body.To})
	}
	return replyEmpty(w, http.StatusNoContent, err)
}
