package httpapi

import (
	"net/http"

	"evalctl/daemon/protocol"
)

func (a *API) search(w http.ResponseWriter, r *http.Request) error {
	var body protocol.SearchRequest
	if err := decodeBody(w, r, aliases{"question": "query"}, &body); err != nil {
		return err
	}
	return a.answerSearch(w, r, body)
}

func (a *API) searchByQuery(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, aliases{"q": "query", "question": "query"})
	if err != nil {
		return err
	}
	body := protocol.SearchRequest{Query: q["query"], Mode: q["mode"], QuestionDate: q["question_date"]}
	for name, into := range map[string]*int{"top_k": &body.TopK, "candidate_k": &body.CandidateK, "rerank_top_n": &body.RerankTopN} {
		if *into, err = q.number(name); err != nil {
			return err
		}
	}
	return a.answerSearch(w, r, body)
}

func (a *API) answerSearch(w http.ResponseWriter, r *http.Request, body protocol.SearchRequest) error {
	found, err := a.brains.Search(r.Context(), r.PathValue("id"), body)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, found)
}
