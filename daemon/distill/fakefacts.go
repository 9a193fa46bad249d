package distill

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evalctl/internal/jsonobj"
)

// maxFakeFact limits the text of an offline fact, in bytes, so that it has at most MaxFact
// characters with the mark of a cut.
const maxFakeFact = MaxFact - 10

// statement is a sentence of a conversation that states something.
type statement struct {
	text    string // with its speaker, and with dates resolved
	date    time.Time
	message int
	score   float64
}

// fakeFacts is the offline reply to factsPrompt: the sentences that state something, verbatim. The
// least informative are left out if there are too many for a reply.
func fakeFacts(w window) string {
	list := statements(w.Earlier, w.Messages)
	room := maxFakeReply - len(encode(factsReply{Facts: []factReply{}}))
	facts := make([]factReply, len(list))
	size := 0
	order := make([]int, len(list))
	for i, s := range list {
		order[i] = i
		facts[i] = factReply{Text: s.text, Message: s.message}
		if !s.date.IsZero() {
			facts[i].Date = s.date.Format(time.DateOnly)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].score, list[a].score) })
	keep := make([]bool, len(list))
	kept := 0
	for _, i := range order {
		n := len(encode(facts[i])) + len(",")
		if keep[i] = kept < maxFacts && size+n <= room; keep[i] {
			size += n
			kept++
		}
	}
	reply := factsReply{Facts: []factReply{}}
	for i, f := range facts {
		if keep[i] {
			reply.Facts = append(reply.Facts, f)
		}
	}
	return encode(reply)
}

// statements returns the statements of users and assistants in the messages. A short answer
// includes the question before it, without which it says nothing.
func statements(earlier, messages []piece) []statement {
	var list []statement
	speakers := map[string]bool{}
	for _, p := range messages {
		for _, w := range lowerWords(p.Name) {
			speakers[w] = true
		}
	}
	asked := ""
	if len(earlier) > 0 {
		asked = lastQuestion(earlier[len(earlier)-1])
	}
	for _, p := range messages {
		if p.Role == RoleTool {
			continue
		}
		for _, sentence := range sentences(p.Text) {
			s, ok := state(p, sentence, asked, speakers)
			if ok {
				list = append(list, s)
			}
			if ok || !pleasant(sentence) {
				asked = "" // this was the answer
			}
		}
		asked = lastQuestion(p)
	}
	return list
}

// state reads one sentence. asked is the question that it answers, if any.
func state(p piece, sentence, asked string, speakers map[string]bool) (statement, bool) {
	sentence = shorten(sentence, longestStatement)
	resolved, day := resolveDates(sentence, p.at)
	s := statement{text: shorten(speaker(p)+": "+resolved, maxFakeFact), date: day, message: p.ID}
	s.score = scoreStatement(sentence, resolved != sentence || !day.IsZero(), speakers)
	if s.score < minStatement && asked != "" && answers(sentence, speakers) {
		s.text = shorten(speaker(p)+`, asked "`+asked+`": `+resolved, maxFakeFact)
		s.score = minStatement
	}
	return s, s.score >= minStatement
}

// answers reports whether a sentence can be the short answer to a question, and is not understood
// without it.
func answers(sentence string, speakers map[string]bool) bool {
	const longest = 8 // words
	words := lowerWords(sentence)
	return !strings.HasSuffix(sentence, "?") && len(words) > 0 && len(words) <= longest &&
		(contentTerms(words, speakers) > 0 || words[0] == "yes" || words[0] == "no")
}

// pleasant reports whether a sentence is short and begins with a pleasantry.
func pleasant(sentence string) bool {
	words := lowerWords(sentence)
	return len(words) == 0 || len(words) <= fewestWords && pleasantries[words[0]] && words[0] != "yes" && words[0] != "no"
}

// lastQuestion returns the last sentence of a message if it is a question of a sensible length.
func lastQuestion(p piece) string {
	list := sentences(p.Text)
	if len(list) == 0 || p.Role == RoleTool {
		return ""
	}
	const longest = 150 // bytes
	last := list[len(list)-1]
	if !strings.HasSuffix(last, "?") || len(last) > longest {
		return ""
	}
	return last
}

// encode returns the JSON of a reply, which has no value that cannot be encoded.
func encode(reply any) string {
	out, err := jsonobj.Marshal(reply) // with escapes, it would be up to six times as long
	if err != nil {
		return err.Error() // is rejected as a reply
	}
	return string(out)
}

// speaker names who wrote a message.
func speaker(p piece) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Role == RoleUser:
		return "User"
	}
	return "Assistant"
}
