package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
	"evalctl/scorer"
)

const (
	// locomoFile is the name of LoCoMo's file, which contains LoCoMo-Plus's conversations.
	locomoFile = "locomo10.json"
	// plusType is the authors' type of all LoCoMo-Plus questions.
	plusType = "cognitive"
	// plusDelay is the time between the last session and the question.
	plusDelay = 7 * 24 * time.Hour
	// plusTime is the date format of the added session.
	plusTime = "3:04 pm on 2 January, 2006"
)

// plusItem is an entry of LoCoMo-Plus: a remark of A that recalls a much earlier dialogue.
type plusItem struct {
	Relation string `json:"relation_type"`
	Cue      string `json:"cue_dialogue"`
	Trigger  string `json:"trigger_query"`
	Gap      string `json:"time_gap"`
}

// readLoCoMoPlus reads an array of entries. As in the authors' code, the entries use LoCoMo's
// conversations in turn.
func readLoCoMoPlus(in wholeFile) (w whole, err error) {
	var items []plusItem
	if err := jsonstream.Decode(in.data, 0, &items); err != nil {
		return w, err
	}
	bases, err := readConversations(in)
	if err != nil {
		return w, err
	}
	for i, item := range items {
		base := bases[i%len(bases)]
		h, q, err := item.question(fmt.Sprintf("plus-%03d", i+1), base, in.traps)
		if err != nil {
			return w, fmt.Errorf("entry %d: %w", i+1, err)
		}
		w.haystacks, w.questions = append(w.haystacks, h), append(w.questions, q)
	}
	return w, nil
}

// dialogue is a LoCoMo conversation: its speakers and its sessions in order.
type dialogue struct {
	speakers [2]string
	sessions []Session
}

// readConversations reads LoCoMo's file in the same folder.
func readConversations(in wholeFile) (all []dialogue, err error) {
	dir := filepath.Dir(in.path)
	path := filepath.Join(dir, locomoFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("LoCoMo-Plus adds to the conversations of LoCoMo, and %s does not exist: "+
			"get it with evalctl dataset fetch locomo10 --output %s", path, dir)
	}
	data, err := in.beside(path)
	if err != nil {
		return nil, err
	}
	from := &walker{r: jsonstream.New(bytes.NewReader(inputfile.Text(data)), 0), keep: true, traps: in.traps}
	err = from.r.Elements(func() error {
		c, err := from.conversation(len(all) + 1)
		var h Haystack
		if err == nil {
			h, err = c.haystack(in.traps)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(len(all)+1), err)
		}
		all = append(all, dialogue{c.speakers, h.Sessions})
		return nil
	})
	if err == nil {
		err = from.end()
	}
	if err == nil && len(all) == 0 {
		err = errors.New("it has no conversations")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// question returns the question of an entry, and its conversation with the recalled session added.
func (p plusItem) question(id string, base dialogue, traps *traps) (h Haystack, q Question, err error) {
	cue, err := base.turns(p.Cue, "cue_dialogue", id, traps)
	if err != nil {
		return h, q, err
	}
	trigger, err := base.turns(p.Trigger, "trigger_query", id, traps)
	if err != nil {
		return h, q, err
	}
	last, err := time.Parse(time.RFC3339, base.sessions[len(base.sessions)-1].Date)
	if err != nil {
		return h, q, err
	}
	days, read := gapDays(p.Gap)
	if !read {
		traps.add(trapTimeGap, fmt.Sprintf("%s: %.40q", id, p.Gap))
	}
	asked := last.Add(plusDelay)
	then := asked.AddDate(0, 0, -days)
	h = Haystack{ID: id, Brain: nameOf(id), Sessions: slices.Clone(base.sessions)}
	h.Sessions = append(h.Sessions, Session{
		SourceID: "cue", Date: utc(then), When: then.Format(plusTime), Turns: cue, Between: "\n",
	})
	slices.SortStableFunc(h.Sessions, func(a, b Session) int { return strings.Compare(a.Date, b.Date) })
	h.numbered(dataset.LoCoMoPlus)
	for i := range h.Sessions { // all titles are alike, so that none says which session was added
		s := &h.Sessions[i]
		s.Title = fmt.Sprintf("%s and %s, session %d, %s", base.speakers[0], base.speakers[1], i+1, s.When)
	}
	q = Question{
		ID: id, Type: plusType, Text: queryOf(trigger), Date: utc(asked), Haystack: id, Gold: h.paths("cue"),
		Answer:             "The reply takes into account what was said earlier:\n" + transcript(cue),
		ExpectedSubstrings: []string{}, // no wording is right
	}
	q.Checks = []scorer.Check{{Judge: q.Answer, Name: "cue", Weight: 1}}
	if p.Relation != "" {
		q.Tags = []string{"relation:" + p.Relation}
	}
	for _, t := range cue {
		q.addEvidence(t.Text)
	}
	return h, q, nil
}

// turns returns the turns of a text whose lines begin with A: or B: for the two speakers.
func (d dialogue) turns(text, key, id string, traps *traps) (turns []Turn, err error) {
	const written = `\n` // some entries have a line end as these two characters
	if strings.Contains(text, written) {
		traps.add(trapLineEnd, id+": "+key)
		text = strings.ReplaceAll(text, written, "\n")
	}
	for line := range strings.Lines(text) {
		letter, words, found := strings.Cut(strings.TrimSpace(line), ":")
		words = strings.TrimSpace(words)
		switch {
		case strings.TrimSpace(line) == "":
		case found && words != "" && letter == "A":
			turns = append(turns, Turn{Role: "user", Name: d.speakers[0], Text: words})
		case found && words != "" && letter == "B":
			turns = append(turns, Turn{Role: "assistant", Name: d.speakers[1], Text: words})
		default:
			return nil, fmt.Errorf("the %s has the line %.60q: "+
				"each must begin with A: or B:, and have words", key, line)
		}
	}
	if len(turns) == 0 {
		return nil, fmt.Errorf("it has no %s", key)
	}
	return turns, nil
}

// queryOf returns the text of a question, without names if there is one speaker.
func queryOf(turns []Turn) string {
	if len(turns) == 1 {
		return turns[0].Text
	}
	return transcript(turns)
}

// transcript returns turns with their speakers.
func transcript(turns []Turn) string {
	return Session{Turns: turns, Between: "\n"}.Text()
}

// gapNumbers are number words by value.
var gapNumbers = []string{
	"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
}

// gapPhrase matches the time in a phrase such as "about two weeks later".
var gapPhrase = regexp.MustCompile(
	`\b(\d{1,4}|an?|` + strings.Join(gapNumbers[1:], "|") + `)\b\s*(week|month|year)s?\b`)

// gapDays returns the number of days in a phrase: 7 for a week, 30 for a month, 365 for a year.
// read is false for other phrases, such as "a few weeks later", which count as 0 days in the
// authors' code too.
func gapDays(phrase string) (days int, read bool) {
	match := gapPhrase.FindStringSubmatch(strings.ToLower(phrase))
	if match == nil {
		return 0, false
	}
	count, err := strconv.Atoi(match[1])
	if err != nil {
		count = max(1, slices.Index(gapNumbers, match[1])) // "a" and "an" are one
	}
	return count * map[string]int{"week": 7, "month": 30, "year": 365}[match[2]], true
}
