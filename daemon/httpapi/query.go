package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
)

// query is the parameters of a URL, each given once.
type query map[string]string

// parseQuery reads the query of a URL. It rejects a parameter given twice, because a client or a
// proxy may use the other value. All spellings and aliases of a name are the same parameter.
func parseQuery(r *http.Request, also aliases) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, requestErrorf(errInvalid, "the query is malformed: %v", err)
	}
	q := query{}
	for name, list := range values {
		key, known := canonical(name, also)
		if !known {
			continue
		}
		if earlier, ok := q[key]; len(list) > 1 || ok && earlier != list[0] {
			return nil, requestErrorf(errInvalid, "query parameter %s is given more than once", key)
		}
		if !utf8.ValidString(list[0]) { // no document would match it
			return nil, requestErrorf(errInvalid, "query parameter %s is not valid UTF-8", key)
		}
		q[key] = list[0]
	}
	return q, nil
}

// pathParam returns the parameter that addresses a document.
func pathParam(r *http.Request) (string, error) {
	q, err := parseQuery(r, nil)
	if err != nil {
		return "", err
	}
	path, ok := q["path"]
	if !ok {
		return "", requestErrorf(errInvalid, "query parameter path is missing")
	}
	return path, nil
}

// flag returns a parameter of true or false. A missing one is false.
func (q query) flag(name string) (bool, error) {
	switch value := q[name]; value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, requestErrorf(errInvalid, "query parameter %s is %q, not true or false",
			name, value)
	}
}

// page returns the part of a listing that the parameters limit and cursor select.
func (q query) page() (memory.DocumentPage, error) {
	if err := rejectZero("limit", q["limit"], protocol.MaxListItems); err != nil {
		return memory.DocumentPage{}, err
	}
	limit, err := q.number("limit")
	return memory.DocumentPage{Cursor: q["cursor"], Limit: limit}, err
}

// list splits a parameter at its commas. A missing one is nil. An empty one is a list with an empty
// value.
func (q query) list(name string) []string {
	value, ok := q[name]
	if !ok {
		return nil
	}
	return strings.Split(value, ",")
}

// number returns a whole number. A missing one is 0.
func (q query) number(name string) (int, error) {
	value := q[name]
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, requestErrorf(errInvalid, "query parameter %s is %q, not a whole number",
			name, value)
	}
	return n, nil
}
