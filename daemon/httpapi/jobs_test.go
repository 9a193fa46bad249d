package httpapi

import (
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

const (
	exampleJob     = "1714564800000-000001-tea"
	exampleJobFile = `{"id":"` + exampleJob + `","kind":"ingest","status":"completed","attempts":1,
		"payload":{"secret":"state"},"result":{"path":"raw/documents/tea.md"},
		"created_at":"2024-05-01T12:00:00.000Z","updated_at":"2024-05-01T12:00:01.000Z"}`
)

func TestGetJob(t *testing.T) {
	s := startFake(t)
	st := s.open(t, "eval")
	if err := st.Write(t.Context(), "jobs/_"+exampleJob+".json", []byte(exampleJobFile)); err != nil {
		t.Fatal(err)
	}
	body := s.expect(t, 200, "GET", "/v1/brains/eval/jobs/"+exampleJob, "")
	job := decoded[protocol.Job](t, body)
	if job.JobID != exampleJob || job.Status != protocol.JobCompleted || string(job.Result) != `{"path":"raw/documents/tea.md"}` ||
		job.UpdatedAt != "2024-05-01T12:00:01.000Z" || strings.Contains(body, "secret") {
		t.Errorf("got %s", body)
	}
	for _, id := range []string{"none", "..%2Fjobs%2F_x", "A", exampleJob + "x"} {
		if body := s.expect(t, 404, "GET", "/v1/brains/eval/jobs/"+id, ""); !strings.Contains(body, "no job has this id") {
			t.Errorf("%s: %s", id, body)
		}
	}
}
