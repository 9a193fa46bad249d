package httpapi

import "net/http"

func (a *API) getJob(w http.ResponseWriter, r *http.Request) error {
	job, err := a.memory.Job(r.Context(), brainOf(r), r.PathValue("job_id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, job)
}
