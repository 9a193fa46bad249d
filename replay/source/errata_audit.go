package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evalctl/internal/jsonstream"
)

// auditError is an error of LoCoMo's key as published by the audit (locomo-audit, errors.json).
type auditError struct {
	ID        string   `json:"question_id"`
	Question  string   `json:"question"`
	Golden    any      `json:"golden_answer"`
	Type      string   `json:"error_type"`
	Cited     []string `json:"cited_evidence"`
	Evidence  []string `json:"correct_evidence"`
	Reasoning string   `json:"reasoning"`
	Answer    any      `json:"correct_answer"`
}

// auditID matches an id of the audit: the indexes of the conversation and the question, from 0.
var auditID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^locomo_([0-9]{1,2})_qa([0-9]{1,4})$`)
})

// locomoConversations are LoCoMo's conversations in file order, which gives them their numbers.
var locomoConversations = []string{
	"conv-26", "conv-30", "conv-41", "conv-42", "conv-43", "conv-44", "conv-47", "conv-48", "conv-49", "conv-50",
}

// ambiguous is the error type of questions without a right answer.
const ambiguous = "AMBIGUOUS"

// addAudit adds an error of the audit. A differing answer or evidence is corrected; an ambiguous
// question, or one without a correction, is excluded.
func (e *Errata) addAudit(line int, object []byte) error {
	var a auditError
	if err := jsonstream.Decode(object, 0, &a); err != nil {
		return err
	}
	m := auditID().FindStringSubmatch(a.ID)
	if m == nil {
		return fmt.Errorf("the question_id %.40q is not like locomo_0_qa1", a.ID)
	}
	conversation, _ := strconv.Atoi(m[1]) // the pattern has few digits
	number, _ := strconv.Atoi(m[2])
	if conversation >= len(locomoConversations) {
		return fmt.Errorf("%s: LoCoMo has %d conversations", a.ID, len(locomoConversations))
	}
	id := fmt.Sprintf("%s-q%03d", locomoConversations[conversation], number)
	out := &correction{Erratum: Erratum{Line: line, Reason: a.Type + ": " + a.Reasoning}, question: a.Question}
	answer := strings.TrimSpace(fmt.Sprint(a.Answer))
	if a.Answer != nil && answer != "" && answer != strings.TrimSpace(fmt.Sprint(a.Golden)) {
		out.answer = &answer
	}
	evidence := slices.DeleteFunc(slices.Clone(a.Evidence), func(t string) bool { return len(turnIDs(t)) == 0 })
	if len(evidence) > 0 && !slices.Equal(evidence, a.Cited) {
		out.gold = &evidence
	}
	if out.Exclude = a.Type == ambiguous || out.answer == nil && out.gold == nil; out.Exclude {
		out.answer, out.gold = nil, nil
	}
	return e.put(id, out)
}
