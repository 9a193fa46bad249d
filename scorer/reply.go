package scorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseReply parses {"score": number, "reason": string} and rejects anything else: text around it,
// code fences, and unknown, missing or repeated keys. encoding/json alone would accept repeated
// keys and keys in another case.
func parseReply(text string) (score float64, reason string, err error) {
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(text), &object); {
	case strings.TrimSpace(text) == "":
		return 0, "", errors.New("it is empty")
	case strings.HasPrefix(strings.TrimSpace(text), "```"):
		return 0, "", errors.New("it is inside a code fence")
	case err != nil || object == nil:
		return 0, "", errors.New("it is not one JSON object alone")
	}
	// The text is one valid object, so the calls of Token below cannot fail.
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	_, _ = dec.Token()
	seen := map[string]bool{}
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		if seen[key] {
			return 0, "", fmt.Errorf("the key %.40q is there twice", key)
		}
		seen[key] = true
		value, _ := dec.Token()
		switch key {
		case "score":
			score, err = parseScore(value)
		case "reason":
			reason, err = parseReason(value)
		default:
			err = fmt.Errorf("the key %.40q is not one of score and reason", key)
		}
		if err != nil {
			return 0, "", err
		}
	}
	if !seen["score"] || !seen["reason"] {
		return 0, "", errors.New("the object must have both score and reason")
	}
	return score, reason, nil
}

func parseScore(value json.Token) (float64, error) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, errors.New("score is not a number")
	}
	score, err := number.Float64()
	if err != nil || score < 0 || score > 1 {
		return 0, errors.New("score is not between 0 and 1")
	}
	return max(score, 0), nil // -0 is 0
}

func parseReason(value json.Token) (string, error) {
	reason, ok := value.(string)
	if !ok {
		return "", errors.New("reason is not a string")
	}
	return reason, nil
}
