package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// turnID is a turn of a conversation of LoCoMo: D8:6 is the 6th turn of session 8.
type turnID struct{ session, turn int }

func (t turnID) String() string { return fmt.Sprintf("D%d:%d", t.session, t.turn) }

// turnPattern finds a turn in evidence that people wrote, such as D8:6, D:11:26 or D30:05.
var turnPattern = regexp.MustCompile(`D:?([0-9]{1,6}):([0-9]{1,6})`)

// turnIDs returns the turns that text names.
func turnIDs(text string) (ids []turnID) {
	for _, m := range turnPattern.FindAllStringSubmatch(text, -1) {
		session, _ := strconv.Atoi(m[1]) // the pattern has up to six digits
		turn, _ := strconv.Atoi(m[2])
		ids = append(ids, turnID{session, turn})
	}
	return ids
}

// gold returns the documents of the sessions that the evidence of a question names, in its order.
func (c *conversation) gold(
	id string, evidence []string, h Haystack, traps *traps,
) (paths []string) {
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
			path := sessionPath(h.Brain, t.session)
			if !slices.ContainsFunc(h.Sessions, func(s Session) bool { return s.Path == path }) {
				traps.add(trapGoldMissing, fmt.Sprintf("%s: %s", id, t))
				continue
			}
			if !named && !c.turns[t] {
				traps.add(trapNoTurn, fmt.Sprintf("%s: %s", id, t))
			}
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) == 0 {
		traps.add(trapNoGold, strings.TrimSpace(id+" "+strings.Join(evidence, " ")))
	}
	return paths
}

// evidencePaths returns the documents of a session's id, or of the turns that text names.
func (h Haystack) evidencePaths(text string) []string {
	paths := h.paths(text)
	for _, t := range turnIDs(text) {
		paths = append(paths, h.paths(fmt.Sprintf("session_%d", t.session))...)
	}
	return paths
}
