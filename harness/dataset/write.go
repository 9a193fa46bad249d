package dataset

import (
	"evalctl/internal/jsonobj"
	"evalctl/scorer"
)

// MarshalJSON encodes a question as a dataset line, without HTML escapes.
func (q Question) MarshalJSON() ([]byte, error) {
	return jsonobj.Marshal(struct {
		ID        string             `json:"id"`
		Question  string             `json:"question"`
		Date      string             `json:"question_date,omitempty"`
		Before    []Operation        `json:"before,omitempty"`
		Expected  []string           `json:"expected_substrings,omitempty"`
		Reference string             `json:"reference_answer,omitempty"`
		Paths     []string           `json:"expected_paths,omitempty"`
		Grades    map[string]float64 `json:"expected_grades,omitempty"`
		Evidence  []string           `json:"expected_evidence,omitempty"`
		Forbidden []string           `json:"forbidden,omitempty"`
		MustCite  []string           `json:"must_cite,omitempty"`
		Tags      []string           `json:"tags,omitempty"`
		Brain     string             `json:"brain,omitempty"`
		Checks    []scorer.Check     `json:"checks,omitempty"`
	}{
		q.ID, q.Question, q.QuestionDate, q.Before, q.ExpectedSubstrings, q.ReferenceAnswer, q.ExpectedPaths, q.ExpectedGrades, q.ExpectedEvidence,
		q.Forbidden, q.MustCite, q.Tags, q.Brain, q.Checks,
	})
}

// MarshalJSON encodes an operation as an element of before.
func (o Operation) MarshalJSON() ([]byte, error) {
	return jsonobj.Marshal(struct {
		Op      Op     `json:"op"`
		Brain   string `json:"brain,omitempty"`
		Path    string `json:"path,omitempty"`
		To      string `json:"to,omitempty"`
		Title   string `json:"title,omitempty"`
		Date    string `json:"date,omitempty"`
		Session string `json:"session,omitempty"`
		Role    string `json:"role,omitempty"`
		Speaker string `json:"speaker,omitempty"`
		Source  string `json:"source,omitempty"`
		Text    string `json:"text,omitempty"`
	}{o.Op, o.Brain, o.Path, o.To, o.Title, o.Date, o.Session, o.Role, o.Speaker, o.Source, o.Text})
}
