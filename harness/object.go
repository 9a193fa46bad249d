package harness

import (
	"strings"

	"evalctl/internal/jsonobj"
)

// tokens returns a count of tokens, limited to what one call can use.
func tokens(o jsonobj.Object, keys ...string) int {
	return int(min(max(o.Number(keys...), 0), 1e9))
}

// errorText returns what a daemon's error object says, on one line.
func errorText(o jsonobj.Object) string {
	return clip([]byte(strings.Join(nonEmpty(o.Text("code"), o.Text("message", "error", "detail")), ": ")))
}
