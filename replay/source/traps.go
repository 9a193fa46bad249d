package source

import (
	"cmp"
	"slices"

	"evalctl/harness/result"
)

// trap is a kind of irregularity.
type trap string

// The irregularities of benchmark files.
const (
	trapAbstention          trap = "abstention-question"
	trapAdversarial         trap = "adversarial-answer"
	trapAdversarialAnswered trap = "adversarial-with-answer"
	trapAnswerType          trap = "answer-not-text"
	trapByteOrderMark       trap = "byte-order-mark"
	trapContentType         trap = "content-not-text"
	trapLeftOut             trap = "corpus-file-left-out"
	trapDateAlone           trap = "date-without-session"
	trapEmptySession        trap = "empty-session"
	trapEmptyTurn           trap = "empty-turn"
	trapNoTurn              trap = "evidence-without-turn"
	trapGoldMissing         trap = "gold-not-in-haystack"
	trapGoldRepeated        trap = "gold-repeated"
	trapSurrogate           trap = "lone-surrogate"
	trapEvidence            trap = "malformed-evidence"
	trapMarkOutside         trap = "mark-outside-gold"
	trapISODate             trap = "other-date-format"
	trapNoDate              trap = "question-without-date"
	trapNoGold              trap = "question-without-gold"
	trapOwnConversation     trap = "conversation-of-a-question"
	trapPlanMark            trap = "plan-mark-in-text"
	trapAfter               trap = "session-after-question"
	trapGoldID              trap = "session-id-names-gold"
	trapRepeatedID          trap = "session-id-repeated"
	trapOrder               trap = "sessions-not-in-date-order"
	trapSameDate            trap = "sessions-with-same-date"
	trapGoldMark            trap = "turn-marked-as-gold"
	trapUnknownKey          trap = "unknown-key"
	trapUnknownType         trap = "unknown-question-type"
	trapRole                trap = "unknown-role"
	trapSpeaker             trap = "unknown-speaker"
	trapUnreadable          trap = "unreadable-evidence"
	trapWeekday             trap = "wrong-weekday"
)

// handling says what is done about an irregularity, for people.
var handling = map[trap]string{
	trapAbstention:          "judged by whether the answer declines; no retrieval metrics: no session has it",
	trapAdversarial:         "the right answer is that it is not mentioned",
	trapAdversarialAnswered: "judged as standard by the file's answer",
	trapAnswerType:          "the number is the answer, as the file writes it",
	trapByteOrderMark:       "skipped",
	trapContentType:         "the number is the text, as the file writes it",
	trapLeftOut:             "not written: documents are files that end in .md",
	trapDateAlone:           "not used",
	trapEmptySession:        "left out: it has no text",
	trapEmptyTurn:           "left out: it has no text",
	trapNoTurn:              "the session that it names is gold",
	trapGoldMissing:         "that session is not gold; others of the question are",
	trapGoldRepeated:        "counted once",
	trapSurrogate:           "each becomes U+FFFD, the replacement character",
	trapEvidence:            "read as the turns that it names",
	trapMarkOutside:         "the session is not gold: answer_session_ids decides",
	trapISODate:             "read as UTC and written as the other dates",
	trapNoDate:              "asked without a date",
	trapNoGold:              "asked and judged; no retrieval metrics",
	trapOwnConversation:     "added to those of the file",
	trapPlanMark:            "removed: it says where the message was planned",
	trapAfter:               "kept, as the file has it",
	trapGoldID:              "not sent: sessions are numbered by date",
	trapRepeatedID:          "each is a session; if the id is gold, all are gold",
	trapOrder:               "sorted by date",
	trapSameDate:            "kept in the order of the file",
	trapGoldMark:            "the mark is not sent",
	trapUnknownKey:          "not used",
	trapUnknownType:         "judged as standard",
	trapRole:                "sent as a user's turn that names the role",
	trapSpeaker:             "sent as a user's turn that has the name",
	trapUnreadable:          "not gold: it names no turn",
	trapWeekday:             "the date counts, and is written with its weekday",
}

// maxExamples is the number of examples of one kind.
const maxExamples = 5

// traps counts the irregularities of a file. A nil *traps counts nothing.
type traps struct{ found map[trap]*result.Trap }

func newTraps() *traps { return &traps{map[trap]*result.Trap{}} }

// add counts one irregularity. The example has the ids and what is irregular.
func (t *traps) add(k trap, example string) {
	if t == nil {
		return
	}
	f := t.found[k]
	if f == nil {
		f = &result.Trap{Kind: string(k), Handling: handling[k]}
		t.found[k] = f
	}
	f.Count++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, example)
	}
}

// list returns what was found, in order of the kind.
func (t *traps) list() []result.Trap {
	list := []result.Trap{}
	for _, f := range t.found {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b result.Trap) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}
