package distill

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxFakeEpisode = 12   // statements
	maxFakeText    = 3000 // bytes of an episode or a summary
	maxFakeTitle   = 80   // bytes
	maxFakeOutcome = 200  // bytes of each speaker
)

// fakeReflection is the offline reply to reflectPrompt. The outcome has the last sentences of user
// and assistant, the episode the most informative statements. Without a statement, there is no
// episode.
func fakeReflection(in reflectInput) string {
	var found []statement
	if in.SoFar != nil {
		for _, line := range strings.Split(in.SoFar.Episode, "\n") {
			if text, ok := strings.CutPrefix(line, "- "); ok {
				_, said, _ := strings.Cut(text, ": ")
				found = append(found, statement{text: text, score: scoreStatement(said, false, nil)})
			}
		}
	}
	for _, s := range statements(nil, in.Messages) {
		if !slices.ContainsFunc(found, func(f statement) bool { return f.text == s.text }) {
			found = append(found, s)
		}
	}
	r := Reflection{Outcome: fakeOutcome(in), Feedback: fakeFeedback(in.Messages)}
	if len(found) > 0 {
		r.RecordEpisode = true
		r.Title = shorten(best(found).text, maxFakeTitle)
		r.Episode = fakeEpisode(found)
	}
	return encode(r)
}

func best(list []statement) statement {
	return slices.MaxFunc(list, func(a, b statement) int { return cmp.Compare(a.score, b.score) })
}

// fakeEpisode lists the statements with the highest scores, in their order.
func fakeEpisode(list []statement) string {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].score, list[a].score) })
	size := 0
	var chosen []int
	for _, i := range order {
		n := len(list[i].text) + len("- \n")
		if len(chosen) < maxFakeEpisode && size+n <= maxFakeText {
			chosen = append(chosen, i)
			size += n
		}
	}
	slices.Sort(chosen)
	var lines []string
	for _, i := range chosen {
		lines = append(lines, "- "+list[i].text)
	}
	return strings.Join(lines, "\n")
}

// fakeOutcome quotes the last sentence of the last messages of user and assistant, in their order.
func fakeOutcome(in reflectInput) string {
	var quotes []string
	seen := map[string]bool{RoleTool: true}
	for _, p := range slices.Backward(in.Messages) {
		if seen[p.Role] {
			continue
		}
		seen[p.Role] = true
		last := oneLine(p.Text) // of a text of code alone
		if list := sentences(p.Text); len(list) > 0 {
			last = list[len(list)-1]
		}
		quotes = append(quotes, speaker(p)+": "+shorten(last, maxFakeOutcome))
	}
	if len(quotes) == 0 && in.SoFar != nil {
		return in.SoFar.Outcome
	}
	slices.Reverse(quotes)
	return shorten(strings.Join(quotes, " "), maxOutcome-len(cutMark))
}

// objections are words with which users object to an answer.
var objections = []string{
	"wrong", "incorrect", "not what i", "does not work", "doesn t work", "did not work", "didn t work",
	"not true", "still broken", "still fails",
}

// fakeFeedback quotes the last objection of a user, else a question that nobody answered.
func fakeFeedback(messages []piece) string {
	for _, p := range slices.Backward(messages) {
		if p.Role != RoleUser {
			continue
		}
		for _, sentence := range sentences(p.Text) {
			words := " " + plainWords(sentence) + " "
			for _, o := range objections {
				if strings.Contains(words, " "+o+" ") {
					return "The user objected: " + shorten(sentence, maxFakeOutcome)
				}
			}
		}
	}
	if last := messages[len(messages)-1]; last.Role == RoleUser && lastQuestion(last) != "" {
		return "This question was not answered: " + lastQuestion(last)
	}
	return ""
}
