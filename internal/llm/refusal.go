package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refusal is the content of an error's body.
type refusal struct {
	// message is for people, with the words of a provider behind this one.
	message string
	// param is the offending parameter, and code a word for the kind of error. Both may be empty.
	param, code string
	// status is the HTTP status that the body states, 0 for none.
	status int
	// wait is how long the body asks to wait, 0 if it does not say.
	wait time.Duration
}

// refusalFields are the fields of the object error, or of the body itself.
type refusalFields struct {
	Message, Detail, Param, Code, Status, Type json.RawMessage
	Metadata                                   struct {
		Raw json.RawMessage
	}
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	}
}

// parseRefusal reads the body of an error. Any text other than the JSON of providers is the
// message.
func parseRefusal(body []byte) refusal {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // as Gemini sends it
		body = list[0]
	}
	var outer struct{ Error json.RawMessage }
	var outside, fields refusalFields
	if json.Unmarshal(body, &outer) != nil {
		return refusal{message: string(body)}
	}
	_ = json.Unmarshal(body, &outside) // of fields of other types, the rest is read
	if text, ok := textOf(outer.Error); ok && text != "" {
		return refusal{message: text, status: statusOf(text, "")}.within(outside)
	}
	fields = outside
	if bytes.HasPrefix(bytes.TrimSpace(outer.Error), []byte("{")) {
		fields = refusalFields{}
		_ = json.Unmarshal(outer.Error, &fields)
	}
	r := refusal{message: string(body)}
	for _, text := range []json.RawMessage{fields.Message, fields.Detail, outside.Message, outside.Detail} {
		if message := readable(text); message != "" {
			r.message = message
			break
		}
	}
	if raw := readable(fields.Metadata.Raw); raw != "" && raw != r.message {
		r.message += ": " + raw
	}
	return r.within(fields)
}

// within adds the fields beside a message.
func (r refusal) within(f refusalFields) refusal {
	r.param, _ = textOf(f.Param)
	for _, field := range []json.RawMessage{f.Code, f.Status, f.Type} {
		word, ok := textOf(field)
		if !ok {
			word = string(field)
		}
		if r.code == "" && ok {
			r.code = word
		}
		if r.status == 0 {
			r.status = statusOf("", word)
		}
	}
	if r.status == 0 {
		r.status = statusOf(r.message, "")
	}
	for _, d := range f.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			r.wait = wait
		}
	}
	return r
}

// textOf returns the text of a JSON string.
func textOf(value json.RawMessage) (text string, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`)) {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// readable returns a JSON value for people: a text unquoted, any other value but null as JSON.
func readable(value json.RawMessage) string {
	if text, ok := textOf(value); ok {
		return text
	}
	if s := strings.TrimSpace(string(value)); s != "null" {
		return s
	}
	return ""
}

// statusWords are the words by which providers name errors, in lower case without marks, with their
// HTTP statuses.
var statusWords = map[string]int{
	"invalidrequesterror": http.StatusBadRequest, "badrequesterror": http.StatusBadRequest,
	"invalidargument": http.StatusBadRequest, "failedprecondition": http.StatusBadRequest,
	"authenticationerror": http.StatusUnauthorized, "unauthenticated": http.StatusUnauthorized,
	"invalidapikey": http.StatusUnauthorized, "permissionerror": http.StatusForbidden,
	"permissiondenied": http.StatusForbidden, "notfounderror": http.StatusNotFound,
	"notfound": http.StatusNotFound, "modelnotfound": http.StatusNotFound,
	"ratelimiterror": http.StatusTooManyRequests, "ratelimitexceeded": http.StatusTooManyRequests,
	"ratelimit": http.StatusTooManyRequests, "toomanyrequests": http.StatusTooManyRequests,
	"resourceexhausted": http.StatusTooManyRequests, "insufficientquota": http.StatusTooManyRequests,
	"overloadederror": http.StatusServiceUnavailable, "overloaded": http.StatusServiceUnavailable,
	"unavailable": http.StatusServiceUnavailable, "unavailableerror": http.StatusServiceUnavailable,
	"serviceunavailable": http.StatusServiceUnavailable, "deadlineexceeded": http.StatusGatewayTimeout,
	"timeouterror": http.StatusGatewayTimeout, "timeout": http.StatusGatewayTimeout,
	"servererror": http.StatusInternalServerError, "apierror": http.StatusInternalServerError,
	"internalservererror": http.StatusInternalServerError, "internal": http.StatusInternalServerError,
}

// statusPhrases are words in messages without any such field.
var statusPhrases = []struct {
	phrase string
	status int
}{
	{"rate limit", http.StatusTooManyRequests}, {"rate-limit", http.StatusTooManyRequests},
	{"too many requests", http.StatusTooManyRequests}, {"overloaded", http.StatusServiceUnavailable},
	{"temporarily unavailable", http.StatusServiceUnavailable}, {"timed out", http.StatusGatewayTimeout},
}

// statusOf returns the HTTP status that a code states, or else the status of a phrase in message,
// or 0.
func statusOf(message, code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		return n
	}
	letters := func(r rune) rune {
		if r == '_' || r == ' ' || r == '-' {
			return -1
		}
		return r
	}
	if n := statusWords[strings.Map(letters, strings.ToLower(code))]; n != 0 {
		return n
	}
	message = strings.ToLower(message)
	for _, p := range statusPhrases {
		if strings.Contains(message, p.phrase) {
			return p.status
		}
	}
	return 0
}

// concernsText reports whether the texts of the request are the cause: a filter, or their length.
func (r refusal) concernsText() bool {
	code := strings.ToLower(r.code)
	return strings.Contains(code, "content") || strings.Contains(code, "context")
}

// concernsSize reports whether the value of a limit is refused, and not its name, which would
// mention other instead.
func (r refusal) concernsSize(other string) bool {
	return !strings.Contains(r.message, other) && aboutSize().MatchString(r.message)
}

// statedError is the error of an answer whose status is good.
type statedError struct{ body []byte }

func (e statedError) Error() string { return parseRefusal(e.body).message }

// StatesError reports whether the body of an answer with a good status is an error. Such an answer
// was not charged, unless it has a usage.
func StatesError(body []byte) bool {
	_, ok := errorIn(body)
	return ok
}

// errorIn returns the error in the body of an answer without a text: in its field error or in a
// choice.
func errorIn(body []byte) (e statedError, ok bool) {
	var answer struct {
		Error   json.RawMessage
		Usage   json.RawMessage
		Choices []struct {
			Error        json.RawMessage
			FinishReason string `json:"finish_reason"`
			Message      struct{ Content json.RawMessage }
		}
	}
	if !bytes.Contains(body, []byte(`"error"`)) {
		return statedError{}, false // most are large, and are not decoded twice
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		var list []struct{ Error json.RawMessage }
		return statedError{body}, json.Unmarshal(body, &list) == nil && len(list) > 0 && says(list[0].Error)
	}
	if json.Unmarshal(body, &answer) != nil {
		return statedError{}, false
	}
	stated := answer.Error
	if len(answer.Choices) > 0 {
		c := answer.Choices[0]
		if !says(stated) {
			stated = c.Error
		}
		if text, _ := textOf(c.Message.Content); text != "" && c.FinishReason != "error" {
			return statedError{}, false
		}
	}
	if !says(stated) {
		return statedError{}, false
	}
	data, err := json.Marshal(struct {
		Error json.RawMessage `json:"error"`
		Usage json.RawMessage `json:"usage,omitempty"`
	}{stated, answer.Usage})
	return statedError{data}, err == nil
}

// says reports whether a field error has a value.
func says(value json.RawMessage) bool {
	switch strings.TrimSpace(string(value)) {
	case "", "null", `""`, "{}", "false":
		return false
	}
	return true
}
