package result

import (
	"fmt"
	"strings"
	"testing"
)

// TestStartedDaemon checks that commands with any difference have different hashes, and that
// arguments are not revealed.
func TestStartedDaemon(t *testing.T) {
	seen := map[string][]string{}
	for _, command := range [][]string{
		{"d"}, {"d", ""}, {"d", "a", "b"}, {"d", "a b"}, {"d", "ab"},
		{"d", "--token", "s3cret"}, {"d", "--token", "0ther"},
	} {
		id := StartedDaemon(command)
		if id.Program != "d" || strings.Contains(fmt.Sprint(id), "s3cret") {
			t.Errorf("%q is %+v", command, id)
		}
		if other, ok := seen[id.CommandSHA256]; ok {
			t.Errorf("%q and %q have the same hash", command, other)
		}
		seen[id.CommandSHA256] = command
	}
}
