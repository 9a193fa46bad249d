package scorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/decimal"
	"evalctl/internal/jsonobj"
)

// parseReply parses {"score": number, "reason": string} and rejects anything else: text around it,
// code fences, and missing or repeated keys. It ignores other keys.
func parseReply(text string) (score float64, reason string, err error) {
	o, err := jsonobj.Parse([]byte(text))
	switch text = strings.TrimSpace(text); {
	case text == "":
		return 0, "", errors.New("it is empty")
	case strings.HasPrefix(text, "```"):
		return 0, "", errors.New("it is inside a code fence")
	case err != nil:
		return 0, "", errors.New("it is not one JSON object alone")
	}
	seen := map[string]bool{}
	for _, m := range o {
		key := string(m.Key)
		if key != "score" && key != "reason" {
			continue
		}
		if seen[key] {
			return 0, "", fmt.Errorf("the key %q is there twice", key)
		}
		seen[key] = true
		switch key {
		case "score":
			score, err = parseScore(string(m.Value))
		case "reason":
			reason, err = parseReason(m.Value)
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

func parseReason(value json.RawMessage) (string, error) {
	reason, ok := jsonobj.String(value)
	if !ok {
		return "", errors.New("reason is not a string")
	}
	return reason, nil
}

func parseScore(value string) (float64, error) {
	score, err := decimal.Parse(value)
	if err != nil && !errors.Is(err, decimal.ErrRange) {
		return 0, errors.New("score is not a number")
	}
	if err != nil || score < 0 || score > 1 {
		return 0, errors.New("score is not between 0 and 1")
	}
	return score, nil
}
