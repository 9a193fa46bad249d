package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/internal/jsonstream"
	"evalctl/scorer"
)

// lifeQuestion is a LifeBench question about the records of a phone. Its type is a string or a
// list.
type lifeQuestion struct {
	Question string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`
	Asked    string          `json:"ask_time"`
	Type     json.RawMessage `json:"question_type"`
	Options  []struct {
		Letter string `json:"option"`
		Text   string `json:"content"`
	} `json:"options"`
	Points []struct {
		Text  string  `json:"description"`
		Score float64 `json:"score"`
	} `json:"score_points"`
	Evidence []lifeEvidence `json:"evidence"`
}

// lifeEvidence names a record by its kind and phone_id. The first version of LifeBench has the
// phone_id under id; the second repeats the whole record.
type lifeEvidence struct {
	Kind    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	PhoneID json.RawMessage `json:"phone_id"`
}

// name returns the id of the record's turn.
func (e lifeEvidence) name() string {
	if e.PhoneID != nil {
		return recordName(e.Kind, e.PhoneID)
	}
	return recordName(e.Kind, e.ID)
}

// recordName returns the name of a record. Ids are numbers or texts.
func recordName(kind string, id json.RawMessage) string {
	return kind + "-" + strings.Trim(string(id), `"`)
}

// readLifeBench reads a user's questions and phone records.
func readLifeBench(in wholeFile) (w whole, err error) {
	var list []lifeQuestion
	if err := jsonstream.Decode(in.data, 0, &list); err != nil {
		return w, err
	}
	h, err := readPhone(in)
	if err != nil {
		return w, err
	}
	w.haystacks = []Haystack{h}
	for i, from := range list {
		q, err := from.question(fmt.Sprintf("%s-q%03d", h.ID, i+1), h, in)
		if err != nil {
			return w, fmt.Errorf("question %d: %w", i+1, err)
		}
		w.questions = append(w.questions, q)
	}
	return w, nil
}

// question returns a question about the haystack h.
func (l lifeQuestion) question(id string, h Haystack, in wholeFile) (q Question, err error) {
	var types []string
	if err := jsonstream.Decode(l.Type, 0, &types); err != nil {
		types = []string{textOf(l.Type)}
	}
	slices.Sort(types) // any order is one stratum
	q = Question{
		ID: id, Type: strings.Join(types, "+"), Text: l.Question, Answer: textOf(l.Answer), Haystack: h.ID,
	}
	if strings.TrimSpace(q.Type) == "" {
		q.Type = noType
	}
	q.Abstention = strings.Contains(strings.ToLower(q.Type), "unanswerable")
	if q.Date, err = askedOn(l.Asked); err != nil {
		return q, err
	}
	if last := h.Sessions[len(h.Sessions)-1].Date; q.Date < last {
		in.traps.add(trapAfter, fmt.Sprintf("%s: %s", id, last))
	}
	if len(l.Options) > 0 {
		l.choose(&q, in)
	}
	chosen := len(q.Checks) > 0
	for _, p := range l.Points {
		switch example := fmt.Sprintf("%s: %.60q", id, p.Text); {
		case p.Score <= 0:
			in.traps.add(trapPoint, example)
		case chosen:
			in.traps.add(trapPointChoice, example)
		default:
			q.Checks = append(q.Checks, scorer.Check{Judge: p.Text, Name: "point", Weight: p.Score})
		}
	}
	for _, e := range l.Evidence {
		e.addTo(&q, h, in.traps)
	}
	return q, nil
}

// choose sets the options of a question. If several options are right, they are shown as they are.
func (l lifeQuestion) choose(q *Question, in wholeFile) {
	right, texts := -1, make([]string, len(l.Options))
	for i, o := range l.Options {
		if texts[i] = o.Text; o.Letter == strings.TrimSpace(q.Answer) {
			right = i
		}
	}
	if right >= 0 && len(texts) <= 26 {
		setOptions(q, q.Text, texts, right, in.order(q.ID, len(texts)))
		return
	}
	for _, o := range l.Options {
		q.Text += "\n" + o.Letter + ". " + o.Text
	}
}

// addTo makes the record's session gold and its texts evidence.
func (e lifeEvidence) addTo(q *Question, h Haystack, traps *traps) {
	var places []int
	name := e.name()
	for i, s := range h.Sessions {
		for _, t := range s.Turns {
			if t.SourceID == name {
				q.addEvidence(t.Text)
				if !slices.Contains(places, i) {
					places = append(places, i)
				}
			}
		}
	}
	q.addGold(places, h, name, traps)
}

// askedOn returns the date of a question. A month means its last day.
func askedOn(text string) (string, error) {
	if t, ok := isoDate(strings.TrimSpace(text)); ok {
		return utc(t), nil
	}
	t, err := time.Parse("2006-01", strings.TrimSpace(text))
	if err != nil {
		return "", fmt.Errorf("its ask_time %.40q is neither like 2025-01-31 nor like 2025-01", text)
	}
	return utc(t.AddDate(0, 1, -1)), nil
}
