package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
	"evalctl/scorer"
)

// beamBatch is a batch of turns of a BEAM chat. A turn is a list of messages.
type beamBatch struct {
	Turns [][]beamMessage `json:"turns"`
}

type beamMessage struct {
	Role       string  `json:"role"`
	ID         int     `json:"id"`
	TimeAnchor *string `json:"time_anchor"`
	Kind       string  `json:"question_type"`
	Content    string  `json:"content"`
}

// beamAnswers are the keys that may hold a question's gold; the first one present is used.
var beamAnswers = []string{"answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance"}

// rubricName is the name of the figures for a rubric's nuggets.
const rubricName = "rubric"

// beamMark matches the origin mark that the file appends to many messages.
var beamMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\s*->->\s*[0-9]+(,[0-9]+)*\s*$`)
})

// beamProbes is the path of a chat's questions, relative to its folder.
var beamProbes = filepath.Join("probing_questions", "probing_questions.json")

// readBEAM reads a BEAM chat, chat.json, with the questions beside it. Every turn, a message and
// the ones that follow from it, becomes a session on the day of its batch.
func readBEAM(in wholeFile) (w whole, err error) {
	dir := filepath.Dir(in.path)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return w, err
	}
	id := "beam-" + filepath.Base(abs)
	h := Haystack{ID: id, Brain: nameOf(id)}
	sessionOf, err := h.readChat(in)
	if err != nil {
		return w, err
	}
	probes := filepath.Join(dir, beamProbes)
	data, err := in.beside(probes)
	if err != nil {
		return w, fmt.Errorf("the questions of the chat: %w", err)
	}
	var byAbility map[string][]map[string]json.RawMessage
	if err := jsonstream.Decode(data, 0, &byAbility); err != nil {
		return w, fmt.Errorf("%s: %w", probes, err)
	}
	last := h.Sessions[len(h.Sessions)-1].Date
	for _, ability := range slices.Sorted(maps.Keys(byAbility)) {
		for i, probe := range byAbility[ability] {
			q := Question{ID: fmt.Sprintf("%s-%s-%d", id, ability, i+1), Type: ability, Haystack: id, Date: last}
			if err := q.readProbe(probe, sessionOf, h, in.traps); err != nil {
				return w, fmt.Errorf("%s: question %q: %w", probes, q.ID, err)
			}
			w.questions = append(w.questions, q)
		}
	}
	w.haystacks = []Haystack{h}
	return w, nil
}

// readChat reads the sessions and returns the session index of each message of a turn with text.
func (h *Haystack) readChat(in wholeFile) (sessionOf map[int]int, err error) {
	batches, err := beamBatches(in.data)
	if err != nil {
		return nil, err
	}
	sessionOf = map[int]int{}
	seen := map[int]bool{}
	var date time.Time
	for b, batch := range batches {
		for t, turn := range batch.Turns {
			var s Session
			for _, m := range turn {
				if m.TimeAnchor != nil && strings.TrimSpace(*m.TimeAnchor) != "" {
					if date, err = time.Parse("January-2-2006", strings.TrimSpace(*m.TimeAnchor)); err != nil {
						return nil, fmt.Errorf("message %d: the time_anchor %.40q is not like March-15-2024", m.ID, *m.TimeAnchor)
					}
				}
				if seen[m.ID] {
					return nil, fmt.Errorf("two messages have the id %d", m.ID)
				}
				seen[m.ID] = true
				where := fmt.Sprintf("%s: message %d", h.ID, m.ID)
				text := beamMark().ReplaceAllString(m.Content, "")
				if text != m.Content {
					in.traps.add(trapPlanMark, where)
				}
				if strings.TrimSpace(text) == "" {
					in.traps.add(trapEmptyTurn, where)
					continue
				}
				role, name := roleOf(m.Role, where, in.traps)
				s.Turns = append(s.Turns, Turn{Role: role, Name: name, Text: text, SourceID: fmt.Sprint(m.ID)})
			}
			if len(s.Turns) == 0 {
				in.traps.add(trapEmptySession, fmt.Sprintf("%s: batch %d, turn %d", h.ID, b+1, t+1))
				continue
			}
			if date.IsZero() {
				return nil, errors.New("the first message has no time_anchor")
			}
			s.SourceID, s.Date = fmt.Sprintf("batch_%d_turn_%d", b+1, t+1), utc(date)
			s.When = date.Format("2 January 2006")
			s.Title = fmt.Sprintf("Chat of %s, part %d", s.When, t+1)
			for _, m := range turn {
				sessionOf[m.ID] = len(h.Sessions)
			}
			h.Sessions = append(h.Sessions, s)
		}
	}
	if len(h.Sessions) == 0 {
		return nil, errNoSessions
	}
	h.numbered(dataset.BEAM)
	return sessionOf, nil
}

// beamAnswer returns an answer as text: several texts are joined. It is empty if there is none.
func beamAnswer(v any) (text string, number bool) {
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) != "" {
			return v, false
		}
	case float64:
		return numeral(v), true
	case []any:
		if texts, err := textsOf(v); err == nil {
			return strings.Join(texts, ", "), false
		}
	}
	return "", false
}

// numeral returns a number of a file in digits, without an exponent.
func numeral(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// readProbe reads a question.
func (q *Question) readProbe(
	probe map[string]json.RawMessage, sessionOf map[int]int, h Haystack, traps *traps,
) error {
	values := map[string]any{}
	for key, raw := range probe {
		v, err := beamValue(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		values[key] = v
	}
	q.Text, _ = values["question"].(string)
	for _, key := range beamAnswers {
		var number bool
		if q.Answer, number = beamAnswer(values[key]); number {
			traps.add(trapAnswerType, q.ID+": "+q.Answer)
		}
		if q.Answer != "" {
			break
		}
	}
	rubric, err := textsOf(values["rubric"])
	if err != nil {
		return fmt.Errorf("rubric: %w", err)
	}
	name := rubricName
	if q.Type == "event_ordering" {
		name = scorer.EventName
	}
	for _, nugget := range rubric {
		if strings.TrimSpace(nugget) != "" {
			q.Checks = append(q.Checks, scorer.Check{Judge: nugget, Name: name, Weight: 1})
		}
	}
	q.Answer = cmp.Or(q.Answer, strings.Join(rubric, "\n"))
	if q.Type == "abstention" {
		q.Abstention = true
		traps.add(trapAbstention, q.ID)
	}
	q.goldOf(numbersIn(values["source_chat_ids"]), sessionOf, h, traps)
	return nil
}

// goldOf adds the documents that contain the evidence messages.
func (q *Question) goldOf(messages []int, sessionOf map[int]int, h Haystack, traps *traps) {
	for _, m := range messages {
		at, ok := sessionOf[m]
		if !ok {
			traps.add(trapGoldMissing, fmt.Sprintf("%s: message %d", q.ID, m))
			continue
		}
		if path := h.Sessions[at].Path; !slices.Contains(q.Gold, path) {
			q.Gold = append(q.Gold, path)
		}
		for _, text := range h.evidenceTexts(fmt.Sprint(m)) {
			q.addEvidence(text)
		}
	}
	if len(q.Gold) == 0 && !q.Abstention {
		traps.add(trapNoGold, q.ID)
	}
}

// beamValue decodes a value. Some values are strings in Python notation.
func beamValue(raw json.RawMessage) (any, error) {
	var v any
	if err := jsonstream.Decode(raw, 0, &v); err != nil {
		return nil, err
	}
	text, ok := v.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != '[' && text[0] != '{' {
		return v, nil
	}
	if parsed, err := pythonValue(text); err == nil {
		return parsed, nil
	}
	return v, nil // a sentence that begins with a bracket
}

// numbersIn returns the whole numbers in nested lists and objects, in order, with object members
// sorted by key.
func numbersIn(v any) (list []int) {
	switch v := v.(type) {
	case float64:
		list = append(list, int(v))
	case []any:
		for _, e := range v {
			list = append(list, numbersIn(e)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, numbersIn(v[key])...)
		}
	}
	return list
}
