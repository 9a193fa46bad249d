package source

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
	"evalctl/scorer"
)

// convoFile is a test case of ConvoMem, or has the evidence items of a person.
type convoFile struct {
	Items         []convoItem         `json:"evidenceItems"`
	Conversations []convoConversation `json:"conversations"`
	OfPerson      []convoItem         `json:"evidence_items"`
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

// What the published folders and answers say of a question.
const (
	convoFolder     = "_evidence" // ends the names of folders
	convoAbstention = "abstention_evidence"
	convoUnknown    = "There is no information in prior conversations to answer this question"
)

// convoName names a test case. Published files have the same names, and their folders, such as
// abstention_evidence/1_evidence, say the kind of their questions.
type convoName struct{ file, folders, kind, number string }

func (n convoName) id() string { return n.folders + n.file + n.number }

func convoNameOf(path string) (n convoName, err error) {
	path, err = filepath.Abs(path)
	n.file = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for dir := filepath.Dir(path); strings.HasSuffix(dir, convoFolder); dir = filepath.Dir(dir) {
		folder := filepath.Base(dir)
		n.folders = folder + "-" + n.folders
		if strings.TrimLeft(folder, "0123456789") != convoFolder { // not how many messages have it
			n.kind = folder
		}
	}
	return n, err
}

// readConvoMem reads a test case, an array of them, or the evidence items of a person. Such an
// item is a test case with its own conversations.
func readConvoMem(in wholeFile) (w whole, err error) {
	name, err := convoNameOf(in.path)
	if err != nil {
		return w, err
	}
	var cases []convoFile
	if bytes.HasPrefix(bytes.TrimSpace(in.data), []byte("[")) {
		err = jsonstream.Decode(in.data, 0, &cases)
	} else {
		var f convoFile
		err = jsonstream.Decode(in.data, 0, &f)
		if f.OfPerson == nil {
			w.addConvoCase(f, name, in.traps)
		}
		for _, item := range f.OfPerson {
			cases = append(cases, convoFile{Items: []convoItem{item}, Conversations: item.Conversations})
		}
	}
	for i, c := range cases {
		name.number = fmt.Sprintf("-%03d", i+1)
		w.addConvoCase(c, name, in.traps)
	}
	return w, err
}

// addConvoCase adds a test case, whose conversations have no dates. Conversations that occur
// only in a question are added to those of the case.
func (w *whole) addConvoCase(f convoFile, name convoName, traps *traps) {
	h := Haystack{ID: "convomem-" + name.id()}
	h.Brain = nameOf(h.ID)
	if name.folders != "" { // a service must not read in a path that there is no answer
		h.Brain = marked(dataset.Slug("convomem-"+name.file+name.number), h.ID)
	}
	known := map[string]bool{}
	add := func(c convoConversation) {
		if text := c.text(); !known[text] {
			known[text] = true
			h.addConversation(c, traps)
		}
	}
	for _, c := range f.Conversations {
		add(c)
	}
	for i, item := range f.Items {
		for _, c := range item.Conversations {
			if !known[c.text()] {
				traps.add(trapOwnConversation, fmt.Sprintf("%s: question %d", h.ID, i+1))
			}
			add(c)
		}
	}
	h.numbered(dataset.ConvoMem)
	for i, item := range f.Items {
		q := Question{
			ID: fmt.Sprintf("%s-q%03d", name.id(), i+1), Type: cmp.Or(name.kind, item.Category, name.file),
			Text: item.Question, Haystack: h.ID,
		}
		item.answer(&q, name.file, traps)
		item.gold(&q, h, traps)
		w.questions = append(w.questions, q)
	}
	w.haystacks = append(w.haystacks, h)
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

// answer sets the gold. LoCoMo's questions about unmentioned facts, category 5, carry a wrong
// answer in the file; the others say that there is no information.
func (item convoItem) answer(q *Question, file string, traps *traps) {
	switch a := item.Answer.(type) {
	case string:
		q.Answer = a
	case float64:
		q.Answer = numeral(a)
		traps.add(trapAnswerType, q.ID+": "+q.Answer)
	}
	category := strings.ToLower(item.Category + " " + file)
	switch {
	case q.Type == convoAbstention || strings.TrimRight(q.Answer, " .") == convoUnknown:
		q.Abstention, q.Topical = true, true
		traps.add(trapAbstention, q.ID)
	case strings.Contains(category, "category_5") || strings.Contains(category, "abstention"):
		traps.add(trapAdversarial, fmt.Sprintf("%s: %.60q", q.ID, q.Answer))
		q.Answer, q.Abstention = notMentioned, true
	}
}

// gold finds the conversations that contain the evidence messages.
func (item convoItem) gold(q *Question, h Haystack, traps *traps) {
	for i, e := range item.Evidence {
		found := h.saying(e.Text)
		for _, path := range found {
			if !slices.Contains(q.Gold, path) {
				q.Gold = append(q.Gold, path)
			}
		}
		if len(found) > 0 {
			q.addEvidence(e.Text)
		} else {
			traps.add(trapGoldMissing, fmt.Sprintf("%s: message %d of the evidence", q.ID, i+1))
		}
	}
}

// saying returns the paths of the sessions that have a turn of this text, else of those that
// contain it as evidence: a message is often written differently, divided or extended.
func (h Haystack) saying(text string) (paths []string) {
	exactly := func(s Session) bool {
		return slices.ContainsFunc(s.Turns, func(t Turn) bool {
			return strings.TrimSpace(t.Text) == strings.TrimSpace(text)
		})
	}
	inWords := func(s Session) bool {
		var turns []scorer.Passage
		for _, t := range s.Turns {
			turns = append(turns, scorer.Passage{Document: s.Path, Text: t.Text})
		}
		return scorer.HasWords(text) && scorer.EvidenceRanks([]string{text}, turns)[0] > 0
	}
	for _, says := range []func(Session) bool{exactly, inWords} {
		for _, s := range h.Sessions {
			if says(s) {
				paths = append(paths, s.Path)
			}
		}
		if len(paths) > 0 {
			break
		}
	}
	return paths
}
