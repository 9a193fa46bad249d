package source

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// personaColumns are the required columns of a PersonaMem table.
var personaColumns = []string{"question_id", "question_type", "correct_answer", "all_options"}

// personaQuestions are the possible names of the question column.
var personaQuestions = []string{"question", "user_question_or_message"}

// personaTable is a PersonaMem table.
type personaTable struct {
	header []string
	rows   [][]string
}

func (t personaTable) column(names ...string) int {
	return slices.IndexFunc(t.header, func(h string) bool { return slices.Contains(names, h) })
}

// readPersonaMem reads a table of PersonaMem and the contexts beside it, a JSONL file with objects
// from context ids to messages. Only messages before a question's end index may be known, so each
// context up to each end index is a haystack.
func readPersonaMem(in wholeFile) (w whole, err error) {
	t, err := readPersonaTable(in.data)
	if err != nil {
		return w, err
	}
	if t.column(personaHistory) >= 0 {
		return readPersonaMem2(t, in)
	}
	if err := t.check(); err != nil {
		return w, err
	}
	contexts, err := readContexts(in)
	if err != nil {
		return w, err
	}
	context, end := t.column("shared_context_id"), t.column("end_index_in_shared_context")
	haystacks := map[string]bool{}
	for i, row := range t.rows {
		q, err := t.question(row, in)
		if err != nil {
			return w, fmt.Errorf("row %d: %w", i+2, err)
		}
		messages, id, err := contexts.of(row, context, end)
		if err != nil {
			return w, fmt.Errorf("row %d: question %q: %w", i+2, q.ID, err)
		}
		if q.Haystack = id; !haystacks[id] {
			haystacks[id] = true
			h := Haystack{ID: id, Brain: nameOf(id), Sessions: sessionsOf(messages, id, in.traps)}
			h.numbered(dataset.PersonaMem)
			w.haystacks = append(w.haystacks, h)
		}
		in.traps.add(trapNoGold, q.ID)
		w.questions = append(w.questions, q)
	}
	return w, nil
}

func readPersonaTable(data []byte) (t personaTable, err error) {
	r := csv.NewReader(bytes.NewReader(inputfile.Table(data, true)))
	if t.header, err = r.Read(); err != nil {
		return t, err
	}
	for i, h := range t.header {
		t.header[i] = strings.TrimSpace(h)
	}
	t.rows, err = r.ReadAll()
	return t, err
}

// check returns an error for a table that is not from the first PersonaMem.
func (t personaTable) check() error {
	for _, need := range personaColumns {
		if t.column(need) < 0 {
			return fmt.Errorf("the table has no column %s; its header is %s", need, quoted(t.header))
		}
	}
	if t.column(personaQuestions...) < 0 {
		return fmt.Errorf("the table has none of the columns %s; its header is %s",
			strings.Join(personaQuestions, " and "), quoted(t.header))
	}
	return nil
}

// optionLabel matches the label at the start of an option.
var optionLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\(([a-z])\)\s*`)
})

// question returns a question. Its options are shuffled by the seed and the question id, or kept in
// file order.
func (t personaTable) question(row []string, in wholeFile) (q Question, err error) {
	q.ID, q.Type = row[t.column("question_id")], row[t.column("question_type")]
	options, err := pythonStrings(row[t.column("all_options")])
	if err != nil {
		return q, fmt.Errorf("all_options: %w", err)
	}
	correct := optionLabel().FindStringSubmatch(row[t.column("correct_answer")])
	if correct == nil {
		return q, fmt.Errorf("correct_answer is %.20q and must be like (a)", row[t.column("correct_answer")])
	}
	var texts []string
	right := -1
	for i, o := range options {
		label := optionLabel().FindStringSubmatch(o)
		if label == nil {
			return q, fmt.Errorf("option %d begins with no letter such as (a): %.40q", i+1, o)
		}
		if label[1] == correct[1] {
			right = i
		}
		texts = append(texts, strings.TrimSpace(o[len(label[0]):]))
	}
	if right < 0 || len(texts) < 2 || len(texts) > 26 {
		return q, fmt.Errorf("the %d options have no (%s)", len(texts), correct[1])
	}
	order := in.order(q.ID, len(texts))
	setOptions(&q, row[t.column(personaQuestions...)], texts, right, order)
	return q, nil
}

// personaMessage is a message of a context.
type personaMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type personaContexts map[string][]personaMessage

// readContexts reads the contexts from the JSONL file beside the table with "context" in its name.
// If there are several, the size in the table's name, such as 32k, decides.
func readContexts(in wholeFile) (personaContexts, error) {
	dir := filepath.Dir(in.path)
	found, err := globIn(dir, "*context*.jsonl")
	if err != nil {
		return nil, err
	}
	if size := contextSize().FindString(filepath.Base(in.path)); size != "" && len(found) > 1 {
		found = slices.DeleteFunc(found, func(f string) bool {
			return !strings.EqualFold(contextSize().FindString(filepath.Base(f)), size)
		})
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("there must be one file with contexts next to the table, such as "+
			"shared_contexts_32k.jsonl, and there are %d in %s", len(found), dir)
	}
	data, err := in.beside(found[0])
	if err != nil {
		return nil, err
	}
	contexts := personaContexts{}
	eachLine(data, func(n int, line []byte) {
		var c map[string][]personaMessage
		if bad := jsonstream.Decode(line, 0, &c); bad != nil && err == nil {
			err = fmt.Errorf("%s:%d: %w", found[0], n, bad)
		}
		maps.Copy(contexts, c)
	})
	return contexts, err
}

var contextSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[0-9]+[km]\b`)
})

// name returns the id of a context's haystack, which is shorter than the context's own id.
func (c personaContexts) name(id string) string {
	name := fmt.Sprintf("personamem-%.12s", id)
	for other := range c {
		if other != id && fmt.Sprintf("personamem-%.12s", other) == name {
			return name + "-" + mark(id)
		}
	}
	return name
}

// of returns the messages that may be known, and their haystack's id.
func (c personaContexts) of(row []string, context, end int) ([]personaMessage, string, error) {
	var id string
	switch {
	case context >= 0:
		id = row[context]
	case len(c) == 1:
		for id = range c {
		}
	default:
		return nil, "", fmt.Errorf("the table has no column shared_context_id, which says which of the %d contexts it is about", len(c))
	}
	messages, ok := c[id]
	if !ok {
		return nil, "", fmt.Errorf("there is no context %.80q", id)
	}
	name := c.name(id)
	if end < 0 {
		return messages, name, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(row[end]))
	if err != nil || n < 1 || n > len(messages) {
		return nil, "", fmt.Errorf("end_index_in_shared_context is %.20q and must be from 1 to %d, the messages of its context",
			row[end], len(messages))
	}
	return messages[:n], fmt.Sprintf("%s-%d", name, n), nil
}

// sessionsOf divides messages into sessions. Each system message begins one.
func sessionsOf(messages []personaMessage, id string, traps *traps) (list []Session) {
	for i, m := range messages {
		where := fmt.Sprintf("%s: message %d", id, i+1)
		if strings.TrimSpace(m.Content) == "" {
			traps.add(trapEmptyTurn, where)
			continue
		}
		if len(list) == 0 || m.Role == "system" {
			n := len(list) + 1
			list = append(list, Session{
				SourceID: fmt.Sprintf("session_%d", n), Title: fmt.Sprintf("Conversation %d", n),
			})
		}
		role, name := roleOf(m.Role, where, traps)
		s := &list[len(list)-1]
		s.Turns = append(s.Turns, Turn{Role: role, Name: name, Text: m.Content})
	}
	return list
}
