package source

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// locomoConversation returns a usable conversation of two sessions with one question.
func locomoConversation() object {
	return object{
		"sample_id": "conv-7",
		"conversation": object{
			"speaker_a": "Ann", "speaker_b": "Bob",
			"session_1_date_time": "1:56 pm on 8 May, 2023",
			"session_1": []object{
				{"speaker": "Ann", "dia_id": "D1:1", "text": "I like tea."},
				{"speaker": "Bob", "dia_id": "D1:2", "text": "Look.", "blip_caption": "a photo of tea"},
			},
			"session_2_date_time": "12:05 am on 9 May, 2023",
			"session_2":           []object{{"speaker": "Bob", "dia_id": "D2:1", "text": "Hi."}},
		},
		"qa": []object{{
			"question": "What does Ann like?", "answer": "tea", "evidence": []string{"D1:1"}, "category": 4,
		}},
	}
}

func talk(c object) object   { return c["conversation"].(object) }
func first(c object) object  { return c["qa"].([]object)[0] }
func said(c object) []object { return talk(c)["session_1"].([]object) }

// TestLoCoMoTraps checks how the irregularities of a conversation are counted and handled.
func TestLoCoMoTraps(t *testing.T) {
	path := func(n string) string { return "locomo/conv-7/session-" + n + ".md" }
	gold := func(paths ...string) func(Question, Haystack) bool {
		return func(q Question, _ Haystack) bool { return cmp.Equal(q.Gold, paths) }
	}
	evidence := func(e ...string) func(object) {
		return func(c object) { first(c)["evidence"] = e }
	}
	for name, test := range map[string]struct {
		change func(c object)
		kinds  map[string]int
		check  func(q Question, h Haystack) bool
	}{
		"nothing": {func(object) {}, nil, func(q Question, h Haystack) bool {
			return q.ID == "conv-7-q000" && q.Type == "single-hop" && q.Date == "2023-05-09T00:05:00Z" &&
				cmp.Equal(q.Gold, []string{path("01")}) &&
				cmp.Equal(h.Sessions[0].Turns, []Turn{
					{Role: "user", Name: "Ann", Text: "I like tea.", SourceID: "D1:1"},
					{Role: "assistant", Name: "Bob", Text: "Look. [shares a photo of tea]", SourceID: "D1:2"},
				}) && h.Sessions[0].ID == "conv-7-session-01"
		}},
		"several in a string": {
			evidence("D2:1; D1:1", "D1:2 D2:1"), map[string]int{"malformed-evidence": 2},
			gold(path("02"), path("01")),
		},
		"other spelling": {
			evidence("D:2:1", "D1:02"), map[string]int{"malformed-evidence": 2}, gold(path("02"), path("01")),
		},
		"no turn": {evidence("D1:9"), map[string]int{"evidence-without-turn": 1}, gold(path("01"))},
		"no session": {
			evidence("D9:1", "D1:1"), map[string]int{"gold-not-in-haystack": 1}, gold(path("01")),
		},
		"unreadable": {
			evidence("D", ""), map[string]int{"unreadable-evidence": 2, "question-without-gold": 1}, gold(),
		},
		"no evidence": {
			func(c object) { delete(first(c), "evidence") }, map[string]int{"question-without-gold": 1}, gold(),
		},
		"number as answer": {
			func(c object) { first(c)["answer"] = 2022 }, map[string]int{"answer-not-text": 1},
			func(q Question, _ Haystack) bool { return q.Answer == "2022" },
		},
		"adversarial": {
			func(c object) {
				delete(first(c), "answer")
				first(c)["adversarial_answer"], first(c)["category"] = "tea", 5
			},
			map[string]int{"adversarial-answer": 1},
			func(q Question, _ Haystack) bool {
				return q.Abstention && q.Answer == "Not mentioned in the conversation" &&
					len(q.Dataset().ExpectedPaths) == 1 && q.JudgeType() == "abstention"
			},
		},
		"adversarial with answer": {
			func(c object) { first(c)["category"] = 5 }, map[string]int{"adversarial-with-answer": 1},
			func(q Question, _ Haystack) bool {
				return !q.Abstention && q.Answer == "tea" && q.JudgeType() == "standard"
			},
		},
		"date alone": {
			func(c object) { talk(c)["session_3_date_time"] = "never" },
			map[string]int{"date-without-session": 1}, nil,
		},
		"empty session": {
			func(c object) { talk(c)["session_3"] = []object{} }, map[string]int{"empty-session": 1},
			func(_ Question, h Haystack) bool { return len(h.Sessions) == 2 },
		},
		"empty turn": {
			func(c object) { said(c)[1] = object{"speaker": "Bob", "dia_id": "D1:2", "text": " "} },
			map[string]int{"empty-turn": 1},
			func(_ Question, h Haystack) bool { return len(h.Sessions[0].Turns) == 1 },
		},
		"not in order": {
			func(c object) { talk(c)["session_1_date_time"] = "3:00 PM on 9 June, 2023" },
			map[string]int{"sessions-not-in-date-order": 1},
			func(q Question, h Haystack) bool {
				return h.Sessions[0].Path == path("02") && q.Date == "2023-06-09T15:00:00Z"
			},
		},
		"same date": {
			func(c object) { talk(c)["session_1_date_time"] = talk(c)["session_2_date_time"] },
			map[string]int{"sessions-with-same-date": 1}, nil,
		},
		"spaces in a name": {
			func(c object) {
				talk(c)["speaker_a"], said(c)[0]["speaker"] = "Ann  Lee", "Ann  Lee"
			},
			nil,
			func(_ Question, h Haystack) bool {
				return strings.Contains(string(h.Documents()[0].Data), "# Ann Lee and Bob, session 1, 1:56 pm")
			},
		},
		"unknown speaker": {
			func(c object) { said(c)[0]["speaker"] = "Eve" }, map[string]int{"unknown-speaker": 1},
			func(_ Question, h Haystack) bool {
				return h.Sessions[0].Turns[0] == Turn{Role: "user", Name: "Eve", Text: "I like tea.", SourceID: "D1:1"}
			},
		},
		"unknown keys": {
			func(c object) {
				c["a"], talk(c)["session_x"], said(c)[0]["b"], first(c)["c"] = 1, 2, 3, 4
				c["observation"], said(c)[0]["query"] = object{"x": 1}, "tea"
			},
			map[string]int{"unknown-key": 4}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := locomoConversation()
			test.change(c)
			b := open(t, writeFile(t, "a.json", encode(t, []object{c})), Options{})
			want := maps.Clone(test.kinds)
			if want == nil {
				want = map[string]int{}
			}
			if diff := cmp.Diff(want, counts(b)); diff != "" {
				t.Error(diff)
			}
			h := haystack(t, b, "conv-7")
			if test.check != nil && !test.check(b.Questions[0], h) {
				t.Errorf("got %+v\n%+v", b.Questions[0], h)
			}
			if i := b.Infos()[0]; i.Sessions != len(h.Sessions) || i.TextBytes != textBytes(h) {
				t.Errorf("got %+v for %d sessions of %d bytes", i, len(h.Sessions), textBytes(h))
			}
		})
	}
}

// TestLoCoMoErrors checks that a file that cannot be used is refused with the place.
func TestLoCoMoErrors(t *testing.T) {
	for want, change := range map[string]func(c object){
		`a.json: question "conv-7-q000": byte`:              func(c object) { delete(first(c), "answer") },
		"the category is 6 and must be 1 to 5":              func(c object) { first(c)["category"] = 6 },
		"the category is 0 and must be 1 to 5":              func(c object) { delete(first(c), "category") },
		"it must not be a string":                           func(c object) { first(c)["category"] = "4" },
		"it has no question":                                func(c object) { delete(first(c), "question") },
		"question 1: byte":                                  func(c object) { first(c)["question"] = "" },
		"evidence must be an array of strings":              func(c object) { first(c)["evidence"] = "D1:1" },
		"session_1 has no session_1_date_time":              func(c object) { delete(talk(c), "session_1_date_time") },
		`session_1: the date "May" is neither like 1:56 pm`: func(c object) { talk(c)["session_1_date_time"] = "May" },
		"session_1: the turn has no usable speaker":         func(c object) { delete(said(c)[0], "speaker") },
		"the conversation has no speaker_a":                 func(c object) { delete(talk(c), "speaker_a") },
		"the conversation that ends here has no qa":         func(c object) { delete(c, "qa") },
		"session_1 must be an array":                        func(c object) { talk(c)["session_1"] = "x" },
		"conversation must be an object":                    func(c object) { c["conversation"] = nil },
		"text must be a string, not an object":              func(c object) { said(c)[0]["text"] = object{} },
		`conversation "conv-7": byte 1: the conversation`:   func(c object) { talk(c)["speaker_b"] = nil; delete(talk(c), "speaker_b") },
	} {
		t.Run(want, func(t *testing.T) {
			c := locomoConversation()
			change(c)
			checkError(t, encode(t, []object{c}), want)
		})
	}
	checkError(t, encode(t, []object{locomoConversation(), locomoConversation()}),
		`the sample_id "conv-7" occurs twice`)
	// The brain of a name that is no brain id ends in a digest, which another name may have.
	one, other := locomoConversation(), locomoConversation()
	one["sample_id"], other["sample_id"] = "A", "a-"+mark("A")
	checkError(t, encode(t, []object{one, other}), `the ids "A" and "a-559aea" yield the same brain a-559aea`)

	empty := locomoConversation()
	empty["qa"] = []object{}
	_, err := Open(t.Context(), writeFile(t, "a.json", encode(t, []object{empty})), Options{})
	if err == nil {
		t.Error("accepted a file without questions")
	}
}

// Files of LoCoMo's shape by others have dates of ISO 8601, and ids that all turns of a chat share.
func TestLoCoMoShape(t *testing.T) {
	b := open(t, writeFile(t, "life.json", `[{"sample_id": "刘伟", "conversation": {"speaker_a": "User", "speaker_b": "Phone",
	 "session_1_date_time": "2025-01-01", "session_1": [{"speaker": "User", "dia_id": "2025-01-01_chat1", "text": "茶"},
	  {"speaker": "Phone", "dia_id": "2025-01-01_chat1", "text": "好"}],
	 "session_2_date_time": "2025-01-02", "session_2": [{"speaker": "Phone", "dia_id": "2025-01-02_sms", "text": "短信"}]},
	 "qa": [{"question": "什么?", "answer": "短信", "category": 1, "evidence": ["2025-01-02_sms"]},
	  {"question": "谁?", "answer": "x", "category": 4, "evidence": ["2025-01-09_sms"]}]}]`), Options{})
	h := haystack(t, b, "刘伟")
	if len(h.Sessions) != 2 || h.Sessions[1].Date != "2025-01-02T00:00:00Z" || h.Brain == "" {
		t.Fatalf("%+v", h)
	}
	if got := b.Questions[0].Gold; len(got) != 1 || got[0] != h.Sessions[1].Path {
		t.Errorf("gold %v, want the second session", got)
	}
	if got := b.Questions[1].Gold; len(got) != 0 {
		t.Errorf("gold %v of an unknown turn", got)
	}
}

// TestLoCoMoOfLifeBench: LifeBench's numbers of categories mean something else, so its questions
// in LoCoMo's shape are refused, with numbers that LoCoMo has, too.
func TestLoCoMoOfLifeBench(t *testing.T) {
	for _, category := range []any{[]int{2, 7}, 4} {
		c := locomoConversation()
		first(c)["category"], first(c)["ask_time"] = category, "2025-11-11"
		first(c)["question_type"], first(c)["evidence"] = []string{"Multi_hop", "Conflict"}, []string{"note348"}
		_, err := Open(t.Context(), writeFile(t, "life.json", encode(t, []object{c})), Options{})
		if err == nil || !strings.Contains(err.Error(), "question 1: its ask_time says that it is LifeBench's") {
			t.Errorf("category %v: %v", category, err)
		}
	}
}
