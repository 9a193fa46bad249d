package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
	"evalctl/scorer"
)

// agentRow is a row of MemoryAgentBench: a long text with its questions. Answers are in the order
// of the questions; each is a list of texts, all of them right.
type agentRow struct {
	Context   string   `json:"context"`
	Questions []string `json:"questions"`
	Answers   []any    `json:"answers"`
	Metadata  struct {
		Source  string   `json:"source"`
		PairIDs []string `json:"qa_pair_ids"`
		IDs     []string `json:"question_ids"`
		Types   []string `json:"question_types"`
		Dates   []string `json:"question_dates"`
		// Keypoints are the points that a summary must contain.
		Keypoints []string `json:"keypoints"`
	} `json:"metadata"`
}

// contextPart is the maximum size of a document cut from a context, about 4,000 tokens.
const contextPart = 16 << 10

// readMemoryAgentBench reads rows from JSON lines, the dataset's export format, or from an array.
// Every context becomes a haystack, divided into documents.
func readMemoryAgentBench(in wholeFile) (w whole, err error) {
	name := strings.TrimSuffix(filepath.Base(in.path), filepath.Ext(in.path))
	n := 0
	add := func(data []byte) error {
		n++
		var row agentRow
		if err := jsonstream.Decode(data, 0, &row); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if len(row.Questions) != len(row.Answers) {
			return fmt.Errorf("row %d: it has %d questions and %d answers", n, len(row.Questions), len(row.Answers))
		}
		h := Haystack{ID: fmt.Sprintf("%s-%03d", name, n)}
		if row.leftOut(h.ID, in.traps) {
			return nil
		}
		h.Brain = nameOf(h.ID)
		for i, part := range partsOf(row.Context) {
			h.Sessions = append(h.Sessions, Session{
				SourceID: fmt.Sprintf("part_%d", i+1), Title: fmt.Sprintf("Part %d", i+1),
				Turns: []Turn{{Role: "user", Text: part}},
			})
		}
		h.numbered(dataset.MemoryAgentBench)
		w.haystacks = append(w.haystacks, h)
		for i := range row.Questions {
			q, err := row.question(i, h.ID)
			if err != nil {
				return fmt.Errorf("row %d: question %d: %w", n, i+1, err)
			}
			if i < len(row.Metadata.IDs) {
				q.abstainByID(row.Metadata.IDs[i], in.traps)
			}
			for _, point := range row.Metadata.Keypoints {
				if len(row.Questions) == 1 && strings.TrimSpace(point) != "" {
					q.Checks = append(q.Checks, scorer.Check{Judge: point, Name: "keypoint", Weight: 1})
				}
			}
			w.questions = append(w.questions, q)
		}
		return nil
	}
	if data := bytes.TrimSpace(in.data); len(data) > 0 && data[0] == '[' {
		var rows []json.RawMessage
		if err := jsonstream.Decode(data, 0, &rows); err != nil {
			return w, err
		}
		for _, row := range rows {
			if err := add(row); err != nil {
				return w, err
			}
		}
		return w, nil
	}
	eachLine(in.data, func(_ int, row []byte) {
		if err == nil {
			err = add(row)
		}
	})
	return w, err
}

// leftOut reports whether a row's questions cannot be scored, and counts those that the authors
// ask with a task that is not in the file.
func (r *agentRow) leftOut(id string, traps *traps) bool {
	kind, _, _ := strings.Cut(r.Metadata.Source, "_")
	for range r.Questions {
		switch kind {
		case "recsys":
			traps.add(trapAnswerIDs, id+": "+r.Metadata.Source)
		case "icl", "factconsolidation":
			traps.add(trapNoTask, id+": "+r.Metadata.Source)
		}
	}
	return kind == "recsys"
}

// question returns the i-th question of a row.
func (r *agentRow) question(i int, haystack string) (q Question, err error) {
	at := func(list []string, other string) string {
		if i < len(list) && strings.TrimSpace(list[i]) != "" {
			return list[i]
		}
		return other
	}
	q = Question{
		ID:   at(r.Metadata.PairIDs, at(r.Metadata.IDs, fmt.Sprintf("%s-q%03d", haystack, i+1))),
		Text: r.Questions[i], Haystack: haystack,
		Type: at(r.Metadata.Types, r.Metadata.Source),
	}
	if q.Type == "" {
		q.Type = noType
	}
	if date := at(r.Metadata.Dates, ""); date != "" {
		when, err := lmeDate(date, "", nil)
		if err != nil {
			return q, err
		}
		q.Date = utc(when)
	}
	answers, err := textsOf(r.Answers[i])
	if text, ok := r.Answers[i].(string); ok {
		answers, err = []string{text}, nil
	}
	if err != nil {
		return q, fmt.Errorf("answers: %w", err)
	}
	for _, a := range answers {
		if a = strings.TrimSpace(a); a != "" && !slices.Contains(q.ExpectedSubstrings, a) {
			q.ExpectedSubstrings = append(q.ExpectedSubstrings, a)
		}
	}
	q.Answer = strings.Join(q.ExpectedSubstrings, " or ")
	return q, nil
}

// partsOf divides a text at line ends, or at word ends within a long line.
func partsOf(text string) (parts []string) {
	for len(text) > contextPart {
		end := strings.LastIndexByte(text[:contextPart], '\n')
		if end <= 0 {
			end = strings.LastIndexByte(text[:contextPart], ' ')
		}
		if end <= 0 {
			end = len(strings.ToValidUTF8(text[:contextPart], ""))
		}
		if part := strings.TrimSpace(text[:end]); part != "" {
			parts = append(parts, part)
		}
		text = text[end:]
	}
	if text = strings.TrimSpace(text); text != "" {
		parts = append(parts, text)
	}
	return parts
}
