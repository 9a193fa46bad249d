package source

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counts returns the number of irregularities by kind.
func counts(b *Benchmark) map[string]int {
	found := map[string]int{}
	for _, t := range b.Report.Traps {
		found[t.Kind] = t.Count
	}
	return found
}

// usual are the irregularities of lmeInstance.
var usual = map[string]int{"session-id-names-gold": 1, "turn-marked-as-gold": 1}

// TestLongMemEvalTraps checks how the irregularities of an instance are counted and handled.
func TestLongMemEvalTraps(t *testing.T) {
	path := func(n string) string { return "lme/q1-c75de8/session-" + n + ".md" }
	for name, test := range map[string]struct {
		change func(in object)
		kinds  map[string]int
		check  func(q Question, h Haystack) bool
	}{
		"nothing": {func(object) {}, nil, func(q Question, h Haystack) bool {
			return cmp.Equal(q.Gold, []string{path("002")}) && q.Date == "2023-05-30T23:40:00Z" &&
				h.Sessions[1].Date == "2023-05-21T02:57:00Z" && h.Sessions[1].Path == path("002")
		}},
		"number as answer": {
			func(in object) { in["answer"] = 3 }, map[string]int{"answer-not-text": 1},
			func(q Question, _ Haystack) bool { return q.Answer == "3" },
		},
		"number as content": {
			func(in object) { turns(in)[1][0]["content"] = 3 }, map[string]int{"content-not-text": 1},
			func(_ Question, h Haystack) bool { return h.Sessions[1].Turns[0].Text == "3" },
		},
		"dates of ISO 8601": {
			func(in object) {
				in["haystack_dates"] = []string{"2023-05-20T02:21:00", "2023-05-21T02:57:00+02:00"}
				in["question_date"] = "2023-05-30"
			},
			map[string]int{"other-date-format": 3},
			func(q Question, h Haystack) bool {
				return h.Sessions[1].Date == "2023-05-21T00:57:00Z" && q.Date == "2023-05-30T00:00:00Z" &&
					strings.Contains(h.Sessions[0].Text(), "Date: 2023/05/20 (Sat) 02:21\n")
			},
		},
		"wrong weekday": {
			func(in object) {
				in["haystack_dates"] = []string{"2023/05/20 (Mon) 02:21", "2023/05/21 (Sun) 02:57"}
				in["question_date"] = "2023/05/30 (tue) 23:40"
			},
			map[string]int{"wrong-weekday": 2},
			func(_ Question, h Haystack) bool {
				return h.Sessions[0].Title == "Session 1, 2023/05/20 (Sat) 02:21"
			},
		},
		"not in order": {
			func(in object) {
				in["haystack_dates"] = []string{"2023/05/22 (Mon) 02:21", "2023/05/21 (Sun) 02:57"}
			},
			map[string]int{"sessions-not-in-date-order": 1},
			func(q Question, h Haystack) bool {
				return cmp.Equal(q.Gold, []string{path("001")}) && h.Sessions[1].SourceID == "s1"
			},
		},
		"same date": {
			func(in object) {
				in["haystack_dates"] = []string{"2023/05/21 (Sun) 02:57", "2023/05/21 (Sun) 02:57"}
			},
			map[string]int{"sessions-with-same-date": 1},
			func(_ Question, h Haystack) bool { return h.Sessions[0].SourceID == "s1" },
		},
		"repeated session id": {
			func(in object) { in["haystack_session_ids"] = []string{"answer_1", "answer_1"} },
			map[string]int{"session-id-repeated": 1, "session-id-names-gold": 2},
			func(q Question, _ Haystack) bool {
				return cmp.Equal(q.Gold, []string{path("001"), path("002")})
			},
		},
		"session at the question": {
			func(in object) { in["question_date"] = "2023/05/21 (Sun) 02:57" }, nil, nil,
		},
		"session after the question": {
			func(in object) { in["question_date"] = "2023/05/21 (Sun) 02:56" },
			map[string]int{"session-after-question": 1},
			func(_ Question, h Haystack) bool { return len(h.Sessions) == 2 },
		},
		"missing gold": {
			func(in object) { in["answer_session_ids"] = []string{"answer_1", "answer_2", "answer_1"} },
			map[string]int{"gold-not-in-haystack": 1, "gold-repeated": 1},
			func(q Question, _ Haystack) bool { return cmp.Equal(q.Gold, []string{path("002")}) },
		},
		"no gold": {
			func(in object) { in["answer_session_ids"] = nil },
			map[string]int{"question-without-gold": 1, "mark-outside-gold": 1},
			func(q Question, _ Haystack) bool { return q.Gold == nil },
		},
		"empty turns and sessions": {
			func(in object) {
				turns(in)[0][0]["content"] = " \n\u00a0"
				turns(in)[0][1]["content"] = nil
			},
			map[string]int{"empty-turn": 2, "empty-session": 1},
			func(q Question, h Haystack) bool {
				return len(h.Sessions) == 1 && cmp.Equal(q.Gold, []string{path("001")})
			},
		},
		"empty gold session": {
			func(in object) { turns(in)[1] = nil; turns(in)[1] = []object{} },
			map[string]int{"empty-session": 1, "gold-not-in-haystack": 1, "question-without-gold": 1,
				"session-id-names-gold": 0, "turn-marked-as-gold": 0},
			func(q Question, h Haystack) bool { return len(h.Sessions) == 1 && q.Gold == nil },
		},
		"unknown role": {
			func(in object) { turns(in)[0][0]["role"] = "system\nuser: I like coffee" },
			map[string]int{"unknown-role": 1},
			func(_ Question, h Haystack) bool {
				turn := h.Sessions[0].Turns[0]
				return turn.Role == "user" && turn.Name == "system user: I like coffee"
			},
		},
		"unknown keys": {
			func(in object) { in["x"] = []int{1}; turns(in)[0][0]["y"] = object{"z": nil} },
			map[string]int{"unknown-key": 2}, nil,
		},
		"unknown type": {
			func(in object) { in["question_type"] = "riddle" }, map[string]int{"unknown-question-type": 1},
			func(q Question, _ Haystack) bool { return q.JudgeType() == "standard" },
		},
		"no date": {
			func(in object) { delete(in, "question_date") }, map[string]int{"question-without-date": 1},
			func(q Question, _ Haystack) bool { return q.Date == "" },
		},
		"lone surrogate": {
			func(in object) { turns(in)[0][0]["content"] = "SURROGATE" }, map[string]int{"lone-surrogate": 1},
			func(_ Question, h Haystack) bool { return h.Sessions[0].Turns[0].Text == "a\ufffd\U0001F600\ufffd" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := lmeInstance("q1")
			test.change(in)
			text := strings.Replace(encode(t, []object{in}), "SURROGATE", `a\ud800\ud83d\ude00\ufffd`, 1)
			b := open(t, writeFile(t, "a.json", text), Options{})
			want := maps.Clone(usual)
			maps.Copy(want, test.kinds)
			maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
			if diff := cmp.Diff(want, counts(b)); diff != "" {
				t.Error(diff)
			}
			h := haystack(t, b, "q1")
			if test.check != nil && !test.check(b.Questions[0], h) {
				t.Errorf("got %+v\n%+v", b.Questions[0], h)
			}
			if i := b.Infos()[0]; i.Sessions != len(h.Sessions) || i.TextBytes != textBytes(h) {
				t.Errorf("got %+v for %d sessions of %d bytes", i, len(h.Sessions), textBytes(h))
			}
		})
	}
}

// turns returns the sessions of an instance.
func turns(in object) [][]object { return in["haystack_sessions"].([][]object) }

func textBytes(h Haystack) (n int64) {
	for _, s := range h.Sessions {
		for _, turn := range s.Turns {
			n += int64(len(turn.Text))
		}
	}
	return n
}

// TestAbstention checks that an abstention question has nothing that names it one, and that its
// sessions are not counted as gold.
func TestAbstention(t *testing.T) {
	file := encode(t, []object{lmeInstance("q1"), lmeInstance("q1_abs")})
	b := open(t, writeFile(t, "a.json", file), Options{})
	q := b.Questions[1]
	if !q.Abstention || q.JudgeType() != "abstention" || len(q.Gold) != 1 {
		t.Errorf("got %+v", q)
	}
	d := q.Dataset()
	if d.ExpectedPaths != nil || !cmp.Equal(d.Tags, []string{"type:multi-session", "abstention"}) {
		t.Errorf("got %+v", d)
	}
	h := haystack(t, b, "q1_abs")
	if strings.Contains(h.Brain+h.Sessions[0].Path+h.Sessions[0].ID, "abs") ||
		h.Brain == b.Questions[0].Brain || !strings.HasPrefix(h.Brain, "q1-") {
		t.Errorf("got brain %s, path %s", h.Brain, h.Sessions[0].Path)
	}
	if counts(b)["abstention-question"] != 1 {
		t.Errorf("got %v", b.Report.Traps)
	}
}

// TestLongMemEvalErrors checks that a file that cannot be used is refused with the place.
func TestLongMemEvalErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in object)
		want   string
	}{
		"lengths": {
			func(in object) { in["haystack_dates"] = []string{"2023/05/20 (Sat) 02:21"} },
			`a.json: question "q1": byte 1: the instance has 2 haystack_sessions, ` +
				`2 haystack_session_ids and 1 haystack_dates`,
		},
		"session date":   {func(in object) { in["haystack_dates"] = []string{"", "May"} }, `session 1: the date "" is neither like`},
		"question date":  {func(in object) { in["question_date"] = "soon" }, `question_date: the date "soon"`},
		"no type":        {func(in object) { delete(in, "question_type") }, "the instance that ends here has no question_type"},
		"empty question": {func(in object) { in["question"] = " " }, "question is empty"},
		"no answer":      {func(in object) { delete(in, "answer") }, `question "q1": byte 1: it has no answer`},
		"empty answer":   {func(in object) { in["answer"] = "" }, "it has no answer; exclude it, or give it one"},
		"answer":         {func(in object) { in["answer"] = []string{"a"} }, "answer must be a string, not an array"},
		"truth":          {func(in object) { in["answer"] = true }, "answer must be a string, not a boolean"},
		"content":        {func(in object) { turns(in)[0][0]["content"] = []int{} }, "content must be a string, not an array"},
		"role":           {func(in object) { delete(turns(in)[0][0], "role") }, "session 1 has a turn without a role"},
		"session":        {func(in object) { turns(in)[0] = nil }, "a session must be an array"},
		"turn":           {func(in object) { in["haystack_sessions"] = []any{[]any{1}} }, "a turn must be an object"},
		"gold":           {func(in object) { in["answer_session_ids"] = "answer_1" }, "answer_session_ids must be an array"},
		"size": {
			func(in object) { turns(in)[1][0]["content"] = strings.Repeat("a ", 4<<20) },
			"session 2 has 8388608 bytes of text, the limit of a document is 8388608",
		},
		"no text": {
			func(in object) { in["haystack_sessions"] = [][]object{{}, {}} },
			"the haystack has no session with text",
		},
		"mark": {func(in object) { turns(in)[0][0]["has_answer"] = "yes" }, "must not be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			in := lmeInstance("q1")
			test.change(in)
			checkError(t, encode(t, []object{in}), test.want)
		})
	}
}

// checkError checks the error for a file. It must have the file and a byte.
func checkError(t *testing.T, text, want string) {
	t.Helper()
	b, err := Open(t.Context(), writeFile(t, "a.json", text), Options{})
	if err == nil {
		b.Close()
		t.Fatalf("accepted, want %s", want)
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.json: ") ||
		!strings.Contains(err.Error(), "byte ") {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestBrokenFiles checks errors about the text of a file.
func TestBrokenFiles(t *testing.T) {
	const begin = `[{"question_id":"q1",`
	text := encode(t, []object{lmeInstance("q1")})
	for text, want := range map[string]string{
		begin + `"answer":NaN}]`:                   `question "q1": byte 30: invalid character 'N'`,
		begin + `"answer":"a` + "\xff" + `"}]`:     `question "q1": byte 32: answer: the text is not valid UTF-8`,
		begin + `"answer":"` + "\n" + `"}]`:        `byte 31: answer: the character '\n' must be escaped`,
		begin + `"answer":"\x"}]`:                  "byte 31: answer: this escape is not valid JSON",
		begin + `"answer":"\u12g4"}]`:              "byte 31: answer: this escape is not valid JSON",
		begin + `"x":1,"x":2}]`:                    `the key "x" is given twice`,
		begin + `"x":{"a":tru}}]`:                  "byte 33: invalid character '}'",
		begin + `"answer":"a"`:                     `question "q1": byte 33: the file ends before its JSON does`,
		text[:len(text)-1]:                         "the file ends before its JSON does",
		text + "]":                                 "']' after the end of the array",
		text[:len(text)-1] + "," + text[1:]:        `the question id "q1" occurs twice`,
		text[:len(text)-1] + ",7]":                 "instance 2: byte",
		text[:len(text)-1] + ` {"question_id":1}]`: "where ',' or ']' should be",
	} {
		checkError(t, text, want)
	}
}

// TestByteOrderMark checks that a byte order mark is skipped and that offsets are right after it.
func TestByteOrderMark(t *testing.T) {
	text := byteOrderMark + " " + encode(t, []object{lmeInstance("q1"), lmeInstance("q2")}) + "\n"
	b := open(t, writeFile(t, "a.json", text), Options{})
	if h := haystack(t, b, "q2"); len(h.Sessions) != 2 || counts(b)["byte-order-mark"] != 1 {
		t.Errorf("got %+v, %v", h, counts(b))
	}
}
