package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/replay/source"
)

// fileAnswers are the answers of a file.
type fileAnswers struct {
	*content
	layout  layout
	answers []answer
	totals  []result.StatedTotal
	report  result.ImportedFile
}

// shareQuestions completes answers without questions with the questions that other files have under
// the same ids. It drops files with questions but no answers.
func shareQuestions(files []fileAnswers) ([]fileAnswers, error) {
	asked, answers := map[string]*answer{}, 0
	for i := range files {
		if f := &files[i]; f.layout.fields[fieldAnswer] == nil {
			for j := range f.answers {
				asked[f.answers[j].id] = &f.answers[j]
			}
			f.answers = nil
		}
		answers += len(files[i].answers)
	}
	if answers == 0 {
		return nil, fmt.Errorf("%s has questions and no answers; name the file with the answers too", files[0].path)
	}
	for _, f := range files {
		for i := range f.answers {
			if a := &f.answers[i]; asked[a.id] != nil && a.question == "" {
				a.question, a.gold = asked[a.id].question, asked[a.id].gold
			}
		}
	}
	return files, nil
}

// number distinguishes several answers in one file to the same question. If each question has the
// same number of answers, above 1, they are repeats, numbered from 1, and number returns how many.
// It returns an error if a question has answers of several models.
func number(f fileAnswers) (repeats int, err error) {
	seen, first := map[string]int{}, map[string]*answer{}
	for i := range f.answers {
		a := &f.answers[i]
		key := a.key()
		seen[key]++
		a.occurrence = seen[key]
		if was := first[key]; was == nil || was.model == "" {
			first[key] = a
		} else if a.model != "" && was.model != a.model {
			return 0, fmt.Errorf("%s: the answers at %s and %s are to the same question and of different models, %.80q and %.80q; "+
				"divide the file, so that each has one system", f.path, was.place, a.place, was.model, a.model)
		}
	}
	for _, n := range seen {
		if repeats == 0 {
			repeats = n
		}
		if n != repeats {
			return 1, nil
		}
	}
	return repeats, nil
}

// key is equal for answers in one file to the same question.
func (a *answer) key() string {
	return strings.Join([]string{a.id, a.conversation, fold(a.question), a.position}, "\x00")
}

// ownQuestions returns the questions of files imported without a dataset, and sets each answer's
// question id. Answers belong together if id, conversation and text are equal. Without an id,
// those of one file do not, unless they are repeats. Duplicate ids of other questions are
// numbered.
func ownQuestions(files []fileAnswers, repeats int) (*matcher, error) {
	var questions []source.Question
	next, ids := map[string]int{}, map[string]string{} // ids maps keys to ids
	used := map[string]bool{}
	for _, f := range files {
		for i := range f.answers {
			a := &f.answers[i]
			if a.question == "" {
				return nil, fmt.Errorf("%s: the answer at %s has no question; name the dataset that has it with --dataset", f.path, a.place)
			}
			key := a.key()
			if repeats == 1 && a.id == "" {
				key = fmt.Sprintf("%s\x00%d", key, a.occurrence)
			}
			if id, ok := ids[key]; ok {
				a.id, a.numbered = id, a.id != id
				continue
			}
			wanted := a.id
			if wanted == "" {
				wanted = strings.TrimPrefix(fmt.Sprintf("%s-q%03d", a.conversation, next[a.conversation]), "-")
			} else if used[wanted] && a.conversation != "" {
				wanted = a.conversation + "-" + wanted
			}
			next[a.conversation]++
			id := wanted
			for n := 2; used[id]; n++ {
				id = fmt.Sprintf("%s-%d", wanted, n)
			}
			used[id], ids[key], a.id, a.numbered = true, id, id, a.id != id
			questions = append(questions, source.Question{
				ID: id, Text: a.question, Answer: a.gold, Haystack: a.conversation, Line: len(questions) + 1,
				Type: cmp.Or(source.LoCoMoCategory(a.category), a.kind),
			})
		}
	}
	return newMatcher(slices.Clip(questions)), nil
}
