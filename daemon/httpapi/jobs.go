package httpapi

import "net/http"

func (a *API) getJob(w http.ResponseWriter, r *http.Request) error {
	job, err := a.memory.Job(r.Context(), brainOf(r), r.PathValue("job_id"))
	return replyJSON(w, http.StatusOK, job, err)
}
