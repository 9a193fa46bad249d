package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// personaHistory is the column with the link to a question's history. The authors evaluate with it
// by default; another column has a history of 128k.
const personaHistory = "chat_history_32k_link"

// personaColumns2 are the required columns of a table of the second PersonaMem.
var personaColumns2 = []string{"persona_id", personaHistory, "user_query", "correct_answer", "incorrect_answers"}

// readPersonaMem2 reads a table of the second PersonaMem and the linked files. A persona's whole
// history is a haystack. The file does not determine the order of the options.
func readPersonaMem2(t personaTable, in wholeFile) (w whole, err error) {
	for _, need := range personaColumns2 {
		if t.column(need) < 0 {
			return w, fmt.Errorf("the table has no column %s; its header is %s", need, quoted(t.header))
		}
	}
	haystacks := map[string]string{}
	for i, row := range t.rows {
		q, err := t.question2(row, i+1, in)
		if err != nil {
			return w, fmt.Errorf("row %d: %w", i+2, err)
		}
		link := row[t.column(personaHistory)]
		id, known := haystacks[link]
		if !known {
			id = "personamem-v2-" + row[t.column("persona_id")]
			messages, err := historyAt(link, in)
			if err != nil {
				return w, fmt.Errorf("row %d: %w", i+2, err)
			}
			h := Haystack{ID: id, Brain: nameOf(id), Sessions: sessionsOf(messages, id, in.traps)}
			h.numbered(dataset.PersonaMem)
			w.haystacks, haystacks[link] = append(w.haystacks, h), id
		}
		q.Haystack = id
		in.traps.add(trapNoGold, q.ID)
		w.questions = append(w.questions, q)
	}
	return w, nil
}

// question2 returns the question of the nth row.
func (t personaTable) question2(row []string, n int, in wholeFile) (q Question, err error) {
	q.ID, q.Type = fmt.Sprintf("persona-%s-%04d", row[t.column("persona_id")], n), noType
	if at := t.column("pref_type"); at >= 0 && strings.TrimSpace(row[at]) != "" {
		q.Type = row[at]
	}
	query, err := pythonValue(row[t.column("user_query")])
	message, ok := query.(map[string]any)
	text, isText := message["content"].(string)
	if err != nil || !ok || !isText {
		return q, fmt.Errorf("user_query is not a message with a content: %.80q", row[t.column("user_query")])
	}
	wrong, err := pythonStrings(row[t.column("incorrect_answers")])
	if err != nil {
		return q, fmt.Errorf("incorrect_answers: %w", err)
	}
	options := append([]string{row[t.column("correct_answer")]}, wrong...)
	if len(options) < 2 || len(options) > 26 {
		return q, fmt.Errorf("it has %d options", len(options))
	}
	setOptions(&q, text, options, 0, in.order(q.ID, len(options)))
	return q, nil
}

// historyAt reads the messages of a history. The link is relative to the dataset's folder, which
// may be above the table's.
func historyAt(link string, in wholeFile) ([]personaMessage, error) {
	if !filepath.IsLocal(filepath.FromSlash(link)) {
		return nil, fmt.Errorf("%s: the link %.80q does not lead to a file of the data set", personaHistory, link)
	}
	dir := filepath.Dir(in.path)
	for _, base := range []string{dir, filepath.Join(dir, ".."), filepath.Join(dir, "..", "..")} {
		path := filepath.Join(base, filepath.FromSlash(link))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := inputfile.Within(base, path, maxWhole); err != nil {
			return nil, err
		}
		data, err := in.beside(path)
		if err != nil {
			return nil, err
		}
		var history struct {
			Messages []personaMessage `json:"chat_history"`
		}
		if err := jsonstream.Decode(data, 0, &history); err != nil || len(history.Messages) == 0 {
			return nil, errors.Join(fmt.Errorf("%s has no messages under chat_history", path), err)
		}
		return history.Messages, nil
	}
	return nil, fmt.Errorf("%s: there is no file %s in %s or the two folders above it; download the histories too", personaHistory, link, dir)
}
