package source

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
)

// prefTask is a PrefEval task. The first of its options follows the preference.
type prefTask struct {
	Preference string   `json:"preference"`
	Question   string   `json:"question"`
	Options    []string `json:"classification_task_options"`
}

// readPrefEval reads an mcq_options file of PrefEval. A task's haystack is only the message that
// states its preference; the file does not contain the messages between it and the question.
func readPrefEval(in wholeFile) (w whole, err error) {
	var tasks []prefTask
	if err := jsonstream.Decode(in.data, 0, &tasks); err != nil {
		return w, err
	}
	topic := strings.TrimSuffix(filepath.Base(in.path), filepath.Ext(in.path))
	for i, task := range tasks {
		q := Question{ID: fmt.Sprintf("%s-%03d", topic, i), Type: topic}
		if len(task.Options) < 2 || len(task.Options) > 26 {
			return w, fmt.Errorf("task %d has %d options", i+1, len(task.Options))
		}
		if strings.TrimSpace(task.Preference) == "" {
			return w, fmt.Errorf("task %d: %w", i+1, errors.New("it has no preference"))
		}
		order := in.order(q.ID, len(task.Options))
		setOptions(&q, task.Question, task.Options, 0, order)
		h := Haystack{ID: q.ID, Sessions: []Session{{
			SourceID: "preference", Title: "Conversation 1", Turns: []Turn{{Role: "user", Text: task.Preference}},
		}}}
		h.Brain = nameOf(h.ID)
		h.numbered(dataset.PrefEval)
		q.Haystack, q.Gold = h.ID, []string{h.Sessions[0].Path}
		w.haystacks = append(w.haystacks, h)
		w.questions = append(w.questions, q)
	}
	return w, nil
}

// lettaRow is a row of Letta's fact benchmark: questions about a list of facts.
type lettaRow struct {
	Questions  []string `json:"question"`
	Answers    []string `json:"answer"`
	Facts      []string `json:"facts"`
	Supporting [][]int  `json:"supporting_fact_indices"`
}

// readLettaFacts reads rows from JSON lines. Each row is a haystack with one session per fact.
func readLettaFacts(in wholeFile) (w whole, err error) {
	name := strings.TrimSuffix(filepath.Base(in.path), filepath.Ext(in.path))
	n := 0
	eachLine(in.data, func(line int, data []byte) {
		if err != nil {
			return
		}
		n++
		var row lettaRow
		if err = jsonstream.Decode(data, 0, &row); err != nil {
			err = fmt.Errorf("line %d: %w", line, err)
			return
		}
		if len(row.Questions) != len(row.Answers) {
			err = fmt.Errorf("line %d: it has %d questions and %d answers", line, len(row.Questions), len(row.Answers))
			return
		}
		if row.Supporting != nil && len(row.Supporting) != len(row.Questions) {
			err = fmt.Errorf("line %d: it has %d questions and %d lists in supporting_fact_indices", line, len(row.Questions), len(row.Supporting))
			return
		}
		h := Haystack{ID: fmt.Sprintf("%s-%03d", name, n)}
		h.Brain = nameOf(h.ID)
		for i, fact := range row.Facts {
			h.Sessions = append(h.Sessions, Session{
				SourceID: fmt.Sprintf("fact_%d", i), Title: fmt.Sprintf("Fact %d", i+1), Turns: []Turn{{Role: "user", Text: fact}},
			})
		}
		h.numbered(dataset.LettaFacts)
		w.haystacks = append(w.haystacks, h)
		for i, text := range row.Questions {
			q := Question{ID: fmt.Sprintf("%s-q%02d", h.ID, i), Text: text, Answer: row.Answers[i], Haystack: h.ID, Type: noType}
			if row.Supporting != nil {
				q.Gold = h.facts(row.Supporting[i], q.ID, in.traps)
			}
			w.questions = append(w.questions, q)
		}
	})
	return w, err
}

// facts returns the documents of the facts at indexes, from 0.
func (h *Haystack) facts(indexes []int, id string, traps *traps) (paths []string) {
	for _, i := range indexes {
		if i < 0 || i >= len(h.Sessions) {
			traps.add(trapGoldMissing, fmt.Sprintf("%s: fact %d", id, i))
			continue
		}
		if path := h.Sessions[i].Path; !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}
