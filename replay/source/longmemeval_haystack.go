package source

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
)

// questionTypes are the types of questions of LongMemEval.
var questionTypes = []string{
	"single-session-user", "single-session-assistant", "single-session-preference",
	"multi-session", "temporal-reasoning", "knowledge-update",
}

// abstentionSuffix ends the ids of abstention questions.
const abstentionSuffix = "_abs"

// abstainByID makes a question of LongMemEval in another benchmark's layout an abstention question
// if its id in LongMemEval says so.
func (q *Question) abstainByID(id string, traps *traps) {
	if !strings.HasSuffix(id, abstentionSuffix) || !slices.Contains(questionTypes, q.Type) {
		return
	}
	q.Abstention, q.Topical = true, len(q.Gold) > 0
	traps.add(trapAbstention, q.ID)
}

// brain returns the haystack's name.
func (in *instance) brain() string { return brainOf(in.id) }

// brainOf returns the brain id of a haystack that is named after its question. An abstention
// question's id reveals what it is, and its stem is often another question's id. All names
// therefore end in a digest.
func brainOf(id string) string {
	return marked(dataset.Slug(strings.TrimSuffix(id, abstentionSuffix)), id)
}

// haystack returns the haystack with its sessions sorted by date, without empty ones.
func (in *instance) haystack(traps *traps) (Haystack, error) {
	if len(in.sessions) != len(in.ids) || len(in.sessions) != len(in.dates) {
		return Haystack{}, fmt.Errorf("the instance has %d haystack_sessions, "+
			"%d haystack_session_ids and %d haystack_dates, which must be equal in number",
			len(in.sessions), len(in.ids), len(in.dates))
	}
	h := Haystack{ID: in.id, Brain: in.brain(), Sessions: []Session{}}
	for i, c := range in.sessions {
		example := fmt.Sprintf("%s: session %d", in.id, i+1)
		when, err := lmeDate(in.dates[i], example, traps)
		if err != nil {
			return h, fmt.Errorf("session %d: %w", i+1, err)
		}
		if c.count == 0 {
			traps.add(trapEmptySession, example)
			continue
		}
		if c.size > protocol.MaxBatchBytes-protocol.MaxBatchText {
			return h, fmt.Errorf("session %d has %d bytes of text, the limit of a document is %d",
				i+1, c.size, protocol.MaxBatchBytes)
		}
		h.Sessions = append(h.Sessions, Session{
			SourceID: in.ids[i], Date: utc(when), When: when.Format(lmeLayout),
			Turns: c.turns, Between: "\n\n",
		})
	}
	if len(h.Sessions) == 0 {
		return h, errNoSessions
	}
	in.order(&h, traps)
	return h, nil
}

// order sorts the sessions and names them.
func (in *instance) order(h *Haystack, traps *traps) {
	h.sort(traps)
	seen := map[string]bool{}
	for i := range h.Sessions {
		s := &h.Sessions[i]
		s.Path = fmt.Sprintf("lme/%s/session-%03d.md", h.Brain, i+1)
		s.ID = fmt.Sprintf("%s-session-%03d", h.Brain, i+1)
		s.Title = fmt.Sprintf("Session %d, %s", i+1, s.When)
		if seen[s.SourceID] {
			traps.add(trapRepeatedID, fmt.Sprintf("%s: %.40q", in.id, s.SourceID))
		}
		seen[s.SourceID] = true
		if strings.Contains(s.SourceID, "answer") {
			traps.add(trapGoldID, fmt.Sprintf("%s: %.60q", in.id, s.SourceID))
		}
	}
}

// addTo implements element.
func (in *instance) addTo(b *Benchmark, h Haystack, at int64, traps *traps) error {
	if _, ok := b.byID[in.id]; ok {
		return fmt.Errorf("the question id %q occurs twice; ids must be unique", in.id)
	}
	q := Question{
		ID: in.id, Type: in.kind, Text: in.question, Haystack: in.id, Brain: h.Brain,
		Answer:     in.answer.text,
		Abstention: strings.HasSuffix(in.id, abstentionSuffix),
	}
	if in.answer.number {
		traps.add(trapAnswerType, fmt.Sprintf("%s: %s", in.id, in.answer.text))
	}
	if !slices.Contains(questionTypes, in.kind) {
		traps.add(trapUnknownType, fmt.Sprintf("%s: %.40q", in.id, in.kind))
	}
	if q.Abstention {
		q.Topical = true
		traps.add(trapAbstention, in.id)
	}
	if err := in.asked(&q, h, traps); err != nil {
		return err
	}
	in.findGold(&q, h, traps)
	err := b.Errata.apply(&q, h.paths, in.marks)
	b.Questions = append(b.Questions, q)
	b.offsets = append(b.offsets, at)
	return err
}

// asked sets the question's date.
func (in *instance) asked(q *Question, h Haystack, traps *traps) error {
	if strings.TrimSpace(in.date) == "" {
		traps.add(trapNoDate, in.id)
		return nil
	}
	when, err := lmeDate(in.date, in.id+": question", traps)
	if err != nil {
		return fmt.Errorf("question_date: %w", err)
	}
	q.Date = utc(when)
	for _, s := range h.Sessions {
		if s.Date > q.Date {
			traps.add(trapAfter, fmt.Sprintf("%s: %s is after %s", in.id, s.Date, q.Date))
		}
	}
	return nil
}

// marks returns the texts of the turns with the answer in the sessions with an id.
func (in *instance) marks(id string) (texts []string) {
	for i, c := range in.sessions {
		if in.ids[i] == id {
			texts = append(texts, c.marks...)
		}
	}
	return texts
}

// findGold sets a question's gold documents and the turns in them that have the answer.
func (in *instance) findGold(q *Question, h Haystack, traps *traps) {
	gold := make(map[string]bool, len(in.gold))
	for _, id := range in.gold {
		if gold[id] {
			traps.add(trapGoldRepeated, fmt.Sprintf("%s: %.60q", in.id, id))
			continue
		}
		gold[id] = true
		paths := h.paths(id)
		q.Gold = append(q.Gold, paths...)
		for _, text := range in.marks(id) {
			q.addEvidence(text)
		}
		if len(paths) == 0 {
			traps.add(trapGoldMissing, fmt.Sprintf("%s: %.60q", in.id, id))
		}
	}
	if len(q.Gold) == 0 {
		traps.add(trapNoGold, in.id)
	}
	for i, c := range in.sessions {
		if c.marked && !gold[in.ids[i]] {
			traps.add(trapMarkOutside, fmt.Sprintf("%s: %.60q", in.id, in.ids[i]))
		}
	}
}
