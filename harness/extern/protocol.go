package extern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/decimal"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
	"evalctl/scorer"
)

// protocolVersion is the version of the messages in this file.
const protocolVersion = 1

const (
	maxReply  = 1 << 20 // bytes of a reply
	maxName   = 100     // characters of a scorer's name, and of its version
	maxReason = 2000    // characters of a reason that are kept
)

// helloRequest is the handshake request.
const helloRequest = `{"protocol": 1, "type": "hello"}`

// scorerInfo is a scorer's description of itself.
type scorerInfo struct {
	name, version string
	needs         []scorer.Need
}

// needed lists what a scorer may need of a question, with tests whether an item has it.
var needed = map[scorer.Need]func(scorer.Item) bool{
	scorer.NeedExpected:  func(i scorer.Item) bool { return len(i.Expected) > 0 },
	scorer.NeedReference: func(i scorer.Item) bool { return strings.TrimSpace(i.Reference) != "" },
	scorer.NeedGold:      func(i scorer.Item) bool { return len(i.Gold) > 0 },
}

// parseHello parses {"protocol": 1, "name": "...", "version": "...", "needs": ["reference_answer"]}.
func parseHello(reply []byte) (scorerInfo, error) {
	o, err := object(reply)
	if err != nil {
		return scorerInfo{}, err
	}
	if v := string(o.Get("protocol")); v != strconv.Itoa(protocolVersion) {
		if v == "" {
			v = "missing"
		}
		return scorerInfo{}, fmt.Errorf(`"protocol" is %.40s, and this evalctl speaks %d`, v, protocolVersion)
	}
	var a scorerInfo
	for _, f := range []struct {
		key  string
		into *string
	}{{"name", &a.name}, {"version", &a.version}} {
		text, ok := jsonobj.String(o.Get(f.key))
		unprintable := strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
		if !ok || strings.TrimSpace(text) == "" || unprintable || utf8.RuneCountInString(text) > maxName {
			return scorerInfo{}, fmt.Errorf("%q must be a text of 1 to %d printable characters", f.key, maxName)
		}
		*f.into = text
	}
	raw := o.Get("needs")
	if len(raw) == 0 || raw[0] != '[' {
		return scorerInfo{}, fmt.Errorf(`"needs" must be a list of what a question must have, of %s; it may be empty`, needNames())
	}
	for element := range jsonobj.Elements(raw) {
		need, _ := jsonobj.String(element)
		if needed[scorer.Need(need)] == nil {
			return scorerInfo{}, fmt.Errorf(`"needs" has %.60s, which is not one of %s`, element, needNames())
		}
		a.needs = append(a.needs, scorer.Need(need))
	}
	return a, nil
}

func needNames() string {
	var names []string
	for need := range needed {
		names = append(names, string(need))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// request asks for the score of an answer. ID is the first key.
type request struct {
	ID         int64    `json:"id"`
	Type       string   `json:"type"`
	QuestionID string   `json:"question_id"`
	Question   string   `json:"question"`
	Date       string   `json:"question_date,omitempty"`
	Answer     string   `json:"answer"`
	Expected   []string `json:"expected_substrings,omitempty"`
	Reference  string   `json:"reference_answer,omitempty"`
	Gold       []string `json:"expected_paths,omitempty"`
	Cited      []string `json:"cited,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"`
	LatencyMS  *float64 `json:"latency_ms,omitempty"`
}

// requestOf returns the request for an item, as a line without the newline.
func requestOf(id int64, item scorer.Item) []byte {
	r := request{
		ID: id, Type: "score", QuestionID: item.ID, Question: item.Question, Date: item.QuestionDate,
		Answer: item.Answer, Expected: item.Expected, Reference: item.Reference,
		Cited: names(item.Cited), Retrieved: names(item.Retrieved), LatencyMS: item.LatencyMS,
	}
	for _, g := range item.Gold {
		r.Gold = append(r.Gold, g.Path)
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return data
}

// names returns the first name of each document, without repetitions.
func names(documents []scorer.Document) []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range documents {
		if len(d.Names) > 0 && !seen[d.Names[0]] {
			out, seen[d.Names[0]] = append(out, d.Names[0]), true
		}
	}
	return out
}

// replyID returns the id of a reply, 0 for none.
func replyID(reply []byte) int64 {
	o, err := object(reply)
	if err != nil {
		return 0
	}
	id, err := strconv.ParseInt(string(o.Get("id")), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// parseVerdict parses {"id": 1, "score": 0.5, "reason": "..."}, or {"id": 1, "error": "..."} for an
// answer that cannot be scored. Unknown keys are ignored. Every error is an *unscoredError.
func parseVerdict(id int64, reply []byte) (scorer.Verdict, error) {
	v, err := verdict(id, reply)
	if err != nil {
		return scorer.Verdict{}, &unscoredError{fmt.Errorf("the scorer gave no usable verdict: %w", err)}
	}
	return v, nil
}

func verdict(id int64, reply []byte) (scorer.Verdict, error) {
	o, err := object(reply)
	if err != nil {
		return scorer.Verdict{}, err
	}
	if got := string(o.Get("id")); got != strconv.FormatInt(id, 10) {
		return scorer.Verdict{}, fmt.Errorf(`"id" is %.40s, and the id of the request is %d`, got, id)
	}
	if raw := o.Get("error"); raw != nil {
		problem, ok := jsonobj.String(raw)
		if !ok || strings.TrimSpace(problem) == "" || o.Get("score") != nil {
			return scorer.Verdict{}, errors.New(`"error" must be a text, without a score`)
		}
		return scorer.Verdict{}, fmt.Errorf("it reports %s", printable.Line(problem, maxReason))
	}
	score, err := decimal.Parse(string(o.Get("score")))
	switch {
	case o.Get("score") == nil:
		return scorer.Verdict{}, errors.New(`it has no "score"`)
	case err != nil && !errors.Is(err, decimal.ErrRange):
		return scorer.Verdict{}, fmt.Errorf(`"score" is not a number: %.40s`, o.Get("score"))
	case err != nil || !(score >= 0 && score <= 1):
		return scorer.Verdict{}, fmt.Errorf(`"score" is not between 0 and 1: %.40s`, o.Get("score"))
	}
	reason, ok := jsonobj.String(o.Get("reason"))
	if !ok {
		return scorer.Verdict{}, errors.New(`"reason" is not a string`)
	}
	return scorer.Verdict{Scored: true, Score: max(score, 0), Reason: cut(reason)}, nil // -0 is 0
}

// object parses one JSON object without repeated keys.
func object(reply []byte) (jsonobj.Object, error) {
	if !utf8.Valid(reply) {
		return nil, errors.New("it is not UTF-8")
	}
	o, err := jsonobj.Parse(reply)
	if err != nil {
		return nil, fmt.Errorf("it is not one JSON object: %s", short(string(reply)))
	}
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[string(m.Key)] {
			return nil, fmt.Errorf("the key %s occurs twice", short(string(m.Key)))
		}
		seen[string(m.Key)] = true
	}
	return o, nil
}

// cut returns the first maxReason characters of a text.
func cut(text string) string {
	n := 0
	for i := range text {
		if n == maxReason {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// short shortens foreign text for messages.
func short(text string) string { return printable.Line(text, 200) }
