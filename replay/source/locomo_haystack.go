package source

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonstream"
)

// categories are the names of the categories of questions.
var categories = map[int]string{
	1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", adversarial: "adversarial",
}

// LoCoMoCategory returns the name of a LoCoMo category by its number, empty if unknown.
func LoCoMoCategory(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	return categories[n]
}

// adversarial is the category of questions about unmentioned facts.
const adversarial = 5

// notMentioned is the right answer to a question about an unmentioned fact.
const notMentioned = "Not mentioned in the conversation"

// haystack returns the conversation's sessions sorted by date.
func (c *conversation) haystack(traps *traps) (Haystack, error) {
	h := Haystack{ID: c.id, Brain: nameOf(c.id), Sessions: []Session{}}
	if c.speakers[0] == "" || c.speakers[1] == "" {
		return h, fmt.Errorf("the conversation has no speaker_a or no speaker_b")
	}
	for _, n := range slices.Sorted(maps.Keys(c.sessions)) {
		m := c.sessions[n]
		switch {
		case !m.given:
			traps.add(trapDateAlone, fmt.Sprintf("%s: session_%d_date_time", c.id, n))
			continue
		case m.count == 0:
			traps.add(trapEmptySession, fmt.Sprintf("%s: session_%d", c.id, n))
			continue
		case m.date == "":
			return h, fmt.Errorf("session_%d has no session_%d_date_time", n, n)
		case m.size > protocol.MaxBatchBytes-protocol.MaxBatchText:
			return h, fmt.Errorf("session_%d has %d bytes of text, the limit of a document is %d",
				n, m.size, protocol.MaxBatchBytes)
		}
		when, err := locomoDate(m.date)
		if err != nil {
			return h, fmt.Errorf("session_%d: %w", n, err)
		}
		h.Sessions = append(h.Sessions, c.session(h.Brain, n, when, traps))
	}
	if len(h.Sessions) == 0 {
		return h, errNoSessions
	}
	h.sort(traps)
	return h, nil
}

// session returns the session with a number.
func (c *conversation) session(brain string, n int, when time.Time, traps *traps) Session {
	m := c.sessions[n]
	for i := range m.turns {
		switch m.turns[i].Name {
		case c.speakers[0]:
			m.turns[i].Role = "user"
		case c.speakers[1]:
			m.turns[i].Role = "assistant"
		default:
			m.turns[i].Role = "user"
			traps.add(trapSpeaker, fmt.Sprintf("%s: session_%d, %.40q", c.id, n, m.turns[i].Name))
		}
	}
	return Session{
		Path: sessionPath(brain, n), ID: fmt.Sprintf("%s-session-%02d", brain, n),
		SourceID: fmt.Sprintf("session_%d", n), Date: utc(when),
		Title: fmt.Sprintf("%s and %s, session %d, %s", c.speakers[0], c.speakers[1], n, m.date),
		Turns: m.turns, When: m.date, Between: "\n",
	}
}

// sessionPath returns the path of the document of a session.
func sessionPath(brain string, n int) string {
	return fmt.Sprintf("locomo/%s/session-%02d.md", brain, n)
}

// addTo implements element.
func (c *conversation) addTo(b *Benchmark, h Haystack, _ int64, traps *traps) error {
	if _, ok := b.byID[c.id]; ok {
		return fmt.Errorf("the sample_id %q occurs twice; ids must be unique", c.id)
	}
	var last string
	for _, s := range h.Sessions {
		last = max(last, s.Date)
	}
	has := make(map[string]bool, len(h.Sessions))
	for _, s := range h.Sessions {
		has[s.Path] = true
	}
	documents := map[int]string{}
	for n := range c.sessions {
		if path := sessionPath(h.Brain, n); has[path] {
			documents[n] = path
		}
	}
	if len(c.qa) > cap(b.Questions)-len(b.Questions) { // doubled, as files have thousands of them
		b.Questions = slices.Grow(b.Questions, len(c.qa)+len(b.Questions))
	}
	for i, a := range c.qa {
		q := Question{
			ID: fmt.Sprintf("%s-q%03d", c.id, i), Type: categories[a.category], Text: a.question,
			Date: last, Haystack: c.id, Brain: h.Brain,
		}
		err := a.complete(&q, traps)
		if err != nil {
			return fmt.Errorf("question %q: %w", q.ID, jsonstream.At(a.offset, err))
		}
		c.findGold(&q, a.evidence, documents, traps)
		if err := b.Errata.apply(&q, h.evidencePaths, c.textsOf); err != nil {
			return err
		}
		b.Questions = append(b.Questions, q)
		b.offsets = append(b.offsets, a.offset)
	}
	return nil
}

// complete checks a question and sets its answer.
func (a askedID) complete(q *Question, traps *traps) error {
	if q.Type == "" {
		return fmt.Errorf("the category is %d and must be 1 to %d", a.category, len(categories))
	}
	if q.Text == "" {
		return fmt.Errorf("it has no question")
	}
	if a.answer.number {
		traps.add(trapAnswerType, fmt.Sprintf("%s: %s", q.ID, a.answer.text))
	}
	q.Answer = a.answer.text
	switch {
	case a.category == adversarial && a.answer.filled:
		traps.add(trapAdversarialAnswered, fmt.Sprintf("%s: %.60q", q.ID, a.answer.text))
	case a.category == adversarial:
		q.Answer, q.Abstention = notMentioned, true
		traps.add(trapAdversarial, fmt.Sprintf("%s: %.60q", q.ID, a.adversarial.text))
	}
	return nil
}
