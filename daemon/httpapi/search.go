package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
)

func (a *API) search(w http.ResponseWriter, r *http.Request) error {
	var body protocol.SearchRequest
	also := aliases{"question": "query"}
	if err := decodeQuestion(w, r, also, protocol.MaxSearchTopK, &body); err != nil {
		return err
	}
	return a.runSearch(w, r, body)
}

func (a *API) searchByQuery(w http.ResponseWriter, r *http.Request) error {
	also := aliases{"q": "query", "question": "query"}
	q, err := parseQuery(r, also)
	if err != nil {
		return err
	}
	if err := rejectUnknown(r.URL.Query(), also, searchParameters); err != nil {
		return err
	}
	body, err := searchOf(q)
	if err != nil {
		return err
	}
	return a.runSearch(w, r, body)
}

// searchParameters are the parameters that searchOf reads.
var searchParameters = append([]string{
	"query", "top_k", "mode", "scope", "sort", "question_date", "candidate_k", "rerank_top_n",
	"max_per_document", "explain", "operators",
}, filterKeys...)

// rejectUnknown rejects unknown parameters, because a misspelt filter would match every document.
func rejectUnknown(given url.Values, also aliases, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if key, _ := canonical(name, also); !slices.Contains(known, key) {
			return requestErrorf(errInvalid, "a search has no query parameter %.64q: use %s",
				name, strings.Join(known, ", "))
		}
	}
	return nil
}

// searchOf converts a URL's parameters into a search. Filters are parameters like the others. Lists
// are separated by commas, so a value with a comma needs a POST.
func searchOf(q query) (protocol.SearchRequest, error) {
	body := protocol.SearchRequest{
		Query: q["query"], Mode: q["mode"], Scope: q["scope"], Sort: q["sort"],
		QuestionDate: q["question_date"],
		Filters: protocol.SearchFilters{
			PathPrefix: q["path_prefix"],
			Paths:      q.list("paths"), Tags: q.list("tags"), SessionIDs: q.list("session_ids"),
			DateFrom: q["date_from"], DateTo: q["date_to"],
		},
	}
	err := rejectZero("top_k", q["top_k"], protocol.MaxSearchTopK)
	if err != nil {
		return body, err
	}
	for name, into := range map[string]*int{
		"top_k": &body.TopK, "candidate_k": &body.CandidateK, "rerank_top_n": &body.RerankTopN,
	} {
		if *into, err = q.number(name); err != nil {
			return body, err
		}
	}
	if q["max_per_document"] != "" {
		n, err := q.number("max_per_document")
		if err != nil {
			return body, err
		}
		body.MaxPerDocument = &n
	}
	for name, into := range map[string]*bool{
		"explain": &body.Explain, "operators": &body.Operators, "include_generated": &body.Filters.IncludeGenerated,
	} {
		if *into, err = q.flag(name); err != nil {
			return body, err
		}
	}
	return body, nil
}

func (a *API) runSearch(w http.ResponseWriter, r *http.Request, body protocol.SearchRequest) error {
	found, err := a.memory.Search(r.Context(), brainOf(r), body)
	if err != nil {
		return err
	}
	a.metrics.searched(found.EffectiveMode, found.Degraded)
	return writeJSON(w, http.StatusOK, found)
}

// decodeQuestion reads the body of a search or an ask. Unknown keys of its filters are rejected,
// because a misspelt filter would match every document.
func decodeQuestion(
	w http.ResponseWriter, r *http.Request, also aliases, maxTopK int, into any,
) error {
	body, err := readJSON(w, r, maxJSONBytes)
	if err != nil {
		return err
	}
	return decodeFiltered(body, also, maxTopK, into)
}

// rejectZero rejects a number that was given as 0. Once decoded, it could not be distinguished from
// a missing one, which means the default.
func rejectZero(name, given string, most int) error {
	if n, err := strconv.Atoi(given); err == nil && n == 0 {
		return &memory.ArgumentError{
			Name: name, Reason: fmt.Sprintf("0 is not between 1 and %d", most),
		}
	}
	return nil
}

var filterKeys = namesOf(&protocol.SearchFilters{})

func decodeFiltered(body []byte, also aliases, maxTopK int, into any) error {
	fields, err := normalizeKeys("the body", body, also, namesOf(into), false)
	if err != nil {
		return err
	}
	if err := rejectZero("top_k", string(fields["top_k"]), maxTopK); err != nil {
		return err
	}
	if filters := fields["filters"]; filters != nil && string(filters) != "null" {
		known, err := normalizeKeys("filters", filters, nil, filterKeys, true)
		if err != nil {
			return err
		}
		if fields["filters"], err = json.Marshal(known); err != nil {
			return jsonError(err)
		}
	}
	return decodeInto(fields, into)
}
