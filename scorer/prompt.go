package scorer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
)

// Prompts are the texts that a judge sends to its model. Unless they have Labels, the reply must be
// {"score": <number from 0 to 1>, "reason": "<text>"}.
type Prompts struct {
	// Scorer is the name of the scorer that uses the prompts (see Kind); empty means "judge".
	Scorer string
	// Name identifies the prompts in results. It must change with any part of them.
	Name string
	// System is the system message.
	System string
	// User returns the user message for an item. The item's texts are untrusted, so the message
	// must quote them so that none of them can end its own quotation.
	User func(Item) string
	// Repair is sent after an unusable reply. It contains %v once, for the problem.
	Repair string
	// Labels is set if the model replies with a word.
	Labels *Labels
	// offline is the verdict of the offline judge, by default by question type.
	offline func(Item) (score float64, reason string)
}

// DefaultPrompts returns the prompts of the judge scorer. The user message is one JSON object, so
// no text can end its own string.
func DefaultPrompts() Prompts {
	return Prompts{Name: "judge-1", System: promptText("judge"), User: jsonMessage, Repair: repairPrompt}
}

// SHA256 returns a digest of Name, System and Repair in lower-case hexadecimal. Results with equal
// digests were judged alike. User is code, identified only by Name.
func (p Prompts) SHA256() string {
	h := sha256.New()
	for _, part := range []string{p.Name, p.System, p.Repair} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (p Prompts) check() error {
	switch {
	case p.Name == "":
		return errors.New("the judge's prompts have no name")
	case p.System == "" || p.User == nil:
		return fmt.Errorf("the judge's prompts %q need a system prompt and a user message", p.Name)
	case strings.Count(p.Repair, "%v") != 1:
		return fmt.Errorf("the judge's prompts %q need a repair text with one %%v for the reason", p.Name)
	case p.Labels != nil:
		return p.Labels.check()
	}
	return nil
}

// repair returns the message after a reply with a problem.
func (p Prompts) repair(problem error) string {
	return strings.Replace(p.Repair, "%v", problem.Error(), 1)
}

const repairPrompt = `Your reply could not be used: %v. Grade the same candidate_answer again. Reply with exactly one JSON object and nothing else, without code fences: {"score": <number from 0 to 1>, "reason": "<one short sentence>"}`

// jsonMessage returns the texts of an item as one JSON object.
func jsonMessage(item Item) string {
	return jsonobj.Text(struct {
		Question     string `json:"question"`
		QuestionDate string `json:"question_date,omitempty"`
		Reference    string `json:"reference_answer"`
		Candidate    string `json:"candidate_answer"`
	}{item.Question, item.QuestionDate, item.Reference, item.Answer})
}

// CriterionPrompts returns prompts that apply one criterion of a check. The user message is one
// JSON object, as in DefaultPrompts.
func CriterionPrompts() Prompts {
	return Prompts{
		Scorer: checksName, Name: "criterion-1",
		System: promptText("criterion"), User: criterionMessage, Repair: repairPrompt,
	}
}

// criterionMessage returns an item whose reference is a criterion as one JSON object.
func criterionMessage(item Item) string {
	return jsonobj.Text(struct {
		Question     string `json:"question"`
		QuestionDate string `json:"question_date,omitempty"`
		Criterion    string `json:"criterion"`
		Candidate    string `json:"candidate_answer"`
	}{item.Question, item.QuestionDate, item.Reference, item.Answer})
}

// truncate cuts an answer at maxCandidate characters and appends a note.
func truncate(answer string) string {
	if first := printable.First(answer, maxCandidate); first != answer {
		return first + "\n[the rest of this answer was left out]"
	}
	return answer
}
