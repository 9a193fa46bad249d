package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
)

// convoFile is a ConvoMem file.
type convoFile struct {
	Items         []convoItem         `json:"evidenceItems"`
	Conversations []convoConversation `json:"conversations"`
}

type convoItem struct {
	Question      string              `json:"question"`
	Answer        any                 `json:"answer"`
	Evidence      []convoMessage      `json:"message_evidences"`
	Conversations []convoConversation `json:"conversations"`
	Category      string              `json:"category"`
}

type convoConversation struct {
	ID       string         `json:"id"`
	Messages []convoMessage `json:"messages"`
}

type convoMessage struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// text returns the conversation as one text, to detect duplicates.
func (c convoConversation) text() string {
	var b strings.Builder
	for _, m := range c.Messages {
		b.WriteString(m.Speaker + "\x00" + m.Text + "\x00")
	}
	return b.String()
}

// readConvoMem reads a ConvoMem file, whose conversations have no dates. Conversations that occur
// only in a question are added to the file's conversations.
func readConvoMem(in wholeFile) (w whole, err error) {
	var f convoFile
	if err := jsonstream.Decode(in.data, 0, &f); err != nil {
		return w, err
	}
	name := strings.TrimSuffix(filepath.Base(in.path), filepath.Ext(in.path))
	h := Haystack{ID: "convomem-" + name}
	h.Brain = nameOf(h.ID)
	known := map[string]bool{}
	add := func(c convoConversation) {
		if text := c.text(); !known[text] {
			known[text] = true
			h.addConversation(c, in.traps)
		}
	}
	for _, c := range f.Conversations {
		add(c)
	}
	for i, item := range f.Items {
		for _, c := range item.Conversations {
			if !known[c.text()] {
				in.traps.add(trapOwnConversation, fmt.Sprintf("%s: question %d", h.ID, i+1))
			}
			add(c)
		}
	}
	h.numbered(dataset.ConvoMem)
	for i, item := range f.Items {
		q := Question{
			ID: fmt.Sprintf("%s-q%03d", name, i+1), Type: item.Category, Text: item.Question, Haystack: h.ID,
		}
		if q.Type == "" {
			q.Type = name
		}
		item.answer(&q, name, in.traps)
		item.gold(&q, h, in.traps)
		w.questions = append(w.questions, q)
	}
	w.haystacks = []Haystack{h}
	return w, nil
}

func (h *Haystack) addConversation(c convoConversation, traps *traps) {
	s := Session{SourceID: c.ID, Title: fmt.Sprintf("Conversation %d", len(h.Sessions)+1)}
	for i, m := range c.Messages {
		where := fmt.Sprintf("%s: %s, message %d", h.ID, c.ID, i+1)
		if strings.TrimSpace(m.Text) == "" {
			traps.add(trapEmptyTurn, where)
			continue
		}
		role, name := roleOf(m.Speaker, where, traps)
		s.Turns = append(s.Turns, Turn{Role: role, Name: name, Text: m.Text})
	}
	if len(s.Turns) == 0 {
		traps.add(trapEmptySession, h.ID+": "+c.ID)
		return
	}
	h.Sessions = append(h.Sessions, s)
}

// answer sets the gold. Questions about unmentioned facts, category 5, carry a wrong answer in the
// file.
func (item convoItem) answer(q *Question, file string, traps *traps) {
	switch a := item.Answer.(type) {
	case string:
		q.Answer = a
	case float64:
		q.Answer = numeral(a)
		traps.add(trapAnswerType, q.ID+": "+q.Answer)
	}
	category := strings.ToLower(item.Category + " " + file)
	if strings.Contains(category, "category_5") || strings.Contains(category, "abstention") {
		traps.add(trapAdversarial, fmt.Sprintf("%s: %.60q", q.ID, q.Answer))
		q.Answer, q.Abstention = notMentioned, true
	}
}

// gold finds the conversations that contain the evidence messages.
func (item convoItem) gold(q *Question, h Haystack, traps *traps) {
	for i, e := range item.Evidence {
		found := false
		for _, s := range h.Sessions {
			has := slices.ContainsFunc(s.Turns, func(t Turn) bool {
				return strings.TrimSpace(t.Text) == strings.TrimSpace(e.Text)
			})
			if found = found || has; has && !slices.Contains(q.Gold, s.Path) {
				q.Gold = append(q.Gold, s.Path)
			}
		}
		if found {
			q.addEvidence(e.Text)
		} else {
			traps.add(trapGoldMissing, fmt.Sprintf("%s: message %d of the evidence", q.ID, i+1))
		}
	}
}
