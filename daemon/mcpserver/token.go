package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
)

// numberToken marks a progress token that is a number and is kept as text. It is random, so that no
// client's own token begins with it.
var numberToken = "number-" + rand.Text() + ":"

// keepToken returns the parameters of a call whose progress token is text if it is a number. The
// SDK decodes numbers as float64, which changes some, but the token must be returned as it is (spec
// 6.4). Parameters without such a token are returned unchanged.
func keepToken(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte(`"progressToken"`)) {
		return params
	}
	var object, meta map[string]json.RawMessage
	if json.Unmarshal(params, &object) != nil || json.Unmarshal(object["_meta"], &meta) != nil {
		return params // the SDK rejects it, or there is none
	}
	token := string(meta["progressToken"])
	if !isNumber(token) {
		return params
	}
	meta["progressToken"] = json.RawMessage(strconv.Quote(numberToken + token))
	var err error
	if object["_meta"], err = json.Marshal(meta); err != nil {
		return params
	}
	kept, err := json.Marshal(object)
	if err != nil {
		return params
	}
	return kept
}

// keepTokenOf is keepToken for a whole message.
func keepTokenOf(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"progressToken"`)) {
		return message
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(message, &object) != nil || object["params"] == nil {
		return message
	}
	params := keepToken(object["params"])
	if bytes.Equal(params, object["params"]) {
		return message
	}
	object["params"] = params
	kept, err := json.Marshal(object)
	if err != nil {
		return message
	}
	return kept
}

func isNumber(token string) bool {
	return token != "" && (token[0] == '-' || token[0] >= '0' && token[0] <= '9')
}

// tokenOf returns a progress token as the client sent it, or nil if it is not a non-empty string or
// a number.
func tokenOf(token any) any {
	text, ok := token.(string)
	if !ok || text == "" {
		return nil
	}
	if number, ok := strings.CutPrefix(text, numberToken); ok {
		return json.Number(number)
	}
	return text
}
