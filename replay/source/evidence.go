package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// turnID identifies a turn of a LoCoMo conversation: D8:6 is the 6th turn of session 8.
type turnID struct{ session, turn int }

func (t turnID) String() string { return string(t.append(nil)) }

func (t turnID) append(to []byte) []byte {
	to = strconv.AppendInt(append(to, 'D'), int64(t.session), 10)
	return strconv.AppendInt(append(to, ':'), int64(t.turn), 10)
}

// turnPattern matches a turn in hand-written evidence, such as D8:6, D:11:26 or D30:05.
var turnPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`D:?([0-9]{1,6}):([0-9]{1,6})`)
})

// turnIDs returns the turns named in text.
func turnIDs(text string) (ids []turnID) {
	if t, ok := plainTurnID(text); ok {
		return []turnID{t}
	}
	for _, m := range turnPattern().FindAllStringSubmatch(text, -1) {
		session, _ := strconv.Atoi(m[1]) // the pattern has up to six digits
		turn, _ := strconv.Atoi(m[2])
		ids = append(ids, turnID{session, turn})
	}
	return ids
}

// plainTurnID parses a text that is exactly one turn id, as nearly all are.
func plainTurnID(text string) (turnID, bool) {
	session, turn, colon := strings.Cut(strings.TrimPrefix(text, "D"), ":")
	s, err := strconv.ParseUint(session, 10, 16)
	t, err2 := strconv.ParseUint(turn, 10, 16)
	id := turnID{int(s), int(t)}
	var plain [16]byte // without zeros before a number
	return id, colon && err == nil && err2 == nil && string(id.append(plain[:0])) == text
}

// findGold sets the gold documents and turn texts that the evidence of a question names, in order.
// documents has the haystack's documents by session number.
func (c *conversation) findGold(q *Question, evidence []string, documents map[int]string, traps *traps) {
	id := q.ID
	for _, e := range evidence {
		turns := turnIDs(e)
		number, named := c.named[strings.TrimSpace(e)]
		if named {
			turns = []turnID{{session: number}}
		}
		switch {
		case named:
		case len(turns) == 0:
			traps.add(trapUnreadable, fmt.Sprintf("%s: %.40q", id, e))
		case len(turns) > 1 || turns[0].String() != e:
			traps.add(trapEvidence, fmt.Sprintf("%s: %.60q", id, e))
		}
		for _, t := range turns {
			path, ok := documents[t.session]
			if !ok {
				traps.add(trapGoldMissing, fmt.Sprintf("%s: %s", id, t))
				continue
			}
			if _, ok := c.turns[t]; !named && !ok {
				traps.add(trapNoTurn, fmt.Sprintf("%s: %s", id, t))
			}
			if !slices.Contains(q.Gold, path) {
				q.Gold = append(q.Gold, path)
			}
		}
		for _, text := range c.textsOf(e) {
			q.addEvidence(text)
		}
	}
	if len(q.Gold) == 0 {
		traps.add(trapNoGold, strings.TrimSpace(id+" "+strings.Join(evidence, " ")))
	}
}

// textsOf returns the texts of the turns named in evidence.
func (c *conversation) textsOf(evidence string) (texts []string) {
	if number, named := c.named[strings.TrimSpace(evidence)]; named {
		for _, t := range c.sessions[number].turns {
			if t.SourceID == strings.TrimSpace(evidence) {
				texts = append(texts, t.Text)
			}
		}
		return texts
	}
	for _, t := range turnIDs(evidence) {
		if text := c.turns[t]; text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// evidenceTexts returns the texts of the turns with a source id.
func (h Haystack) evidenceTexts(id string) (texts []string) {
	for _, s := range h.Sessions {
		for _, t := range s.Turns {
			if t.SourceID == id {
				texts = append(texts, t.Text)
			}
		}
	}
	return texts
}

// EvidencePaths returns the documents for a session or turn id of the file.
func (h Haystack) EvidencePaths(id string) []string { return h.evidencePaths(id) }

// evidencePaths returns the documents for a session id or for the turns named in text.
func (h Haystack) evidencePaths(text string) []string {
	paths := h.paths(text)
	for _, t := range turnIDs(text) {
		paths = append(paths, h.paths(fmt.Sprintf("session_%d", t.session))...)
	}
	return paths
}
