package source

import (
	"cmp"
	"slices"

	"evalctl/harness/result"
)

// trap is a kind of irregularity. handling describes how it is handled.
type trap struct{ kind, handling string }

// The irregularities of benchmark files.
var (
	trapAbstention          = trap{"abstention-question", "judged by whether the answer declines; no retrieval metrics: no session has it"}
	trapAdversarial         = trap{"adversarial-answer", "the right answer is that it is not mentioned"}
	trapAdversarialAnswered = trap{"adversarial-with-answer", "judged as standard by the file's answer"}
	trapAnswerType          = trap{"answer-not-text", "the number is the answer, as the file writes it"}
	trapAnswerIDs           = trap{"answers-are-ids", "not asked: the file does not say what the ids name"}
	trapByteOrderMark       = trap{"byte-order-mark", "skipped"}
	trapContentType         = trap{"content-not-text", "the number is the text, as the file writes it"}
	trapLineEnd             = trap{"line-end-as-text", "read as the end of a line"}
	trapLeftOut             = trap{"corpus-file-left-out", "not written: documents are files that end in .md"}
	trapDateAlone           = trap{"date-without-session", "not used"}
	trapEmptySession        = trap{"empty-session", "left out: it has no text"}
	trapEmptyTurn           = trap{"empty-turn", "left out: it has no text"}
	trapNoTurn              = trap{"evidence-without-turn", "the session that it names is gold"}
	trapGoldMissing         = trap{"gold-not-in-haystack", "that session is not gold; others of the question are"}
	trapGoldRepeated        = trap{"gold-repeated", "counted once"}
	trapSurrogate           = trap{"lone-surrogate", "each becomes U+FFFD, the replacement character"}
	trapEvidence            = trap{"malformed-evidence", "read as the turns that it names"}
	trapMarkOutside         = trap{"mark-outside-gold", "the session is not gold: answer_session_ids decides"}
	trapISODate             = trap{"other-date-format", "read as UTC and written as the other dates"}
	trapNoDate              = trap{"question-without-date", "asked without a date"}
	trapNoTask              = trap{"question-without-its-task", "asked as it is: not comparable with the authors' rates, who add the task"}
	trapNoGold              = trap{"question-without-gold", "asked and judged; no retrieval metrics"}
	trapNotJudged           = trap{"query-without-qrels", "not asked: the qrels do not name it"}
	trapIdentical           = trap{"query-with-id-of-document", "ranked with the others; BEIR's own evaluation leaves that document out"}
	trapNothingRelevant     = trap{"query-without-relevant-document", "not asked: no document is relevant to it"}
	trapOwnConversation     = trap{"conversation-of-a-question", "added to those of the file"}
	trapPlanMark            = trap{"plan-mark-in-text", "removed: it says where the message was planned"}
	trapPointChoice         = trap{"point-of-multiple-choice", "left out: the letter of the right option decides"}
	trapPoint               = trap{"point-without-score", "left out: it is worth nothing"}
	trapQuestionImage       = trap{"question-with-image", "not asked: the image cannot be sent"}
	trapScreenshot          = trap{"screenshot", "not sent: the text of the page is"}
	trapAfter               = trap{"session-after-question", "kept, as the file has it"}
	trapGoldID              = trap{"session-id-names-gold", "not sent: sessions are numbered by date"}
	trapRepeatedID          = trap{"session-id-repeated", "each is a session; if the id is gold, all are gold"}
	trapOrder               = trap{"sessions-not-in-date-order", "sorted by date"}
	trapSameDate            = trap{"sessions-with-same-date", "kept in the order of the file"}
	trapGoldMark            = trap{"turn-marked-as-gold", "the mark is not sent"}
	trapUnknownKey          = trap{"unknown-key", "not used"}
	trapUnknownType         = trap{"unknown-question-type", "judged as standard"}
	trapTags                = trap{"tags-without-type", "all questions are one stratum: a type is a tag type:X or category:X"}
	trapRole                = trap{"unknown-role", "sent as a user's turn that names the role"}
	trapSpeaker             = trap{"unknown-speaker", "sent as a user's turn that has the name"}
	trapUnreadable          = trap{"unreadable-evidence", "not gold: it names no turn"}
	trapTimeGap             = trap{"unreadable-time-gap", "no time: the dialogue is dated as the question, as its authors do"}
	trapWeekday             = trap{"wrong-weekday", "the date counts, and is written with its weekday"}
)

// maxExamples is the maximum number of examples per kind.
const maxExamples = 5

// traps counts irregularities in a file. A nil *traps counts nothing.
type traps struct{ counts map[trap]*result.Trap }

func newTraps() *traps { return &traps{map[trap]*result.Trap{}} }

// add counts one irregularity. The example contains the ids and the irregular value.
func (t *traps) add(k trap, example string) {
	if t == nil {
		return
	}
	f := t.counts[k]
	if f == nil {
		f = &result.Trap{Kind: k.kind, Handling: k.handling}
		t.counts[k] = f
	}
	f.Count++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, example)
	}
}

// list returns the traps sorted by kind.
func (t *traps) list() []result.Trap {
	list := []result.Trap{}
	for _, f := range t.counts {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b result.Trap) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}
