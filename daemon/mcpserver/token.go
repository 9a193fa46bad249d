package mcpserver

import (
	"encoding/json"

	"evalctl/internal/verbatim"
)

// tokenOf returns a progress token as the client sent it, or nil if it is not a non-empty string or
// a number. The token must be returned unchanged (spec 6.4).
func tokenOf(token any) any {
	text, ok := token.(string)
	if !ok || text == "" {
		return nil
	}
	if number, ok := verbatim.Value(text); ok {
		return json.Number(number)
	}
	return text
}
