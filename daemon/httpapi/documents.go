package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

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
	return writeFrom(w, http.StatusOK, protocol.TypeBytes, size, content)
}

func (a *API) statDocument(w http.ResponseWriter, r *http.Request) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	info, err := st.Stat(r.Context(), path)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, fileInfo(info))
}

func (a *API) headDocument(w http.ResponseWriter, r *http.Request) error {
	st, path, err := a.document(r)
	if err != nil {
		return err
	}
	if _, err := st.Stat(r.Context(), path); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
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
	if err := rejectZero("limit", q["limit"], protocol.MaxListItems); err != nil {
		return err
	}
	limit, err := q.number("limit")
	if err != nil {
		return err
	}
	if limit < 0 || limit > protocol.MaxListItems {
		return requestErrorf(errInvalid, "limit: %d is not between 1 and %d", limit, protocol.MaxListItems)
	}
	infos, err := st.List(r.Context(), q["dir"], opts)
	if err != nil {
		return err
	}
	list, err := pageOf(infos, q["cursor"], limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

// pageOf returns the entries after a cursor, at most limit. A limit of 0 means all of them.
func pageOf(infos []store.FileInfo, cursor string, limit int) (protocol.FileList, error) {
	from, found := slices.BinarySearchFunc(infos, cursor, func(f store.FileInfo, cursor string) int {
		return strings.Compare(f.Path, cursor)
	})
	if found {
		from++
	}
	infos = infos[from:]
	var list protocol.FileList
	switch {
	case limit == 0 && len(infos) > protocol.MaxListItems:
		return list, requestErrorf(errTooLarge,
			"the listing has %d items, and at most %d in one answer: give a limit, or narrow it with dir or glob",
			len(infos), protocol.MaxListItems)
	case limit > 0 && len(infos) > limit:
		infos = infos[:limit]
		list.NextCursor = infos[limit-1].Path
	}
	list.Items = make([]protocol.FileInfo, len(infos))
	for i, info := range infos {
		list.Items[i] = fileInfo(info)
	}
	return list, nil
}

func fileInfo(f store.FileInfo) protocol.FileInfo {
	return protocol.FileInfo{
		Path: f.Path, Size: f.Size, MTime: protocol.FormatTime(f.ModTime), IsDir: f.IsDir,
	}
}

func (a *API) writeDocument(w http.ResponseWriter, r *http.Request) error {
	return a.putBytes(w, r, (*store.Store).Write)
}

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
	if err := put(st, r.Context(), path, data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) deleteDocument(w http.ResponseWriter, r *http.Request) error {
	st, err := a.store(r)
	if err != nil {
		return err
	}
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
		return a.removeRecord(w, r, id)
	}
	if err := st.Delete(r.Context(), path); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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
	if err := st.Rename(r.Context(), *body.From, *body.To); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
