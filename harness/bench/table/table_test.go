package table

import (
	"testing"

	"evalctl/harness/bench/record"
)

// TestErrors checks the share of errors next to their number, also if all requests fail.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		failed, offered int64
		want            string
	}{
		{0, 184, "0"},
		{184, 184, "184 (100 %)"},
		{1, 3000, "1 (0.0333 %)"},
	} {
		if got := errorsOf(record.OpFigures{Offered: tt.offered, Errors: map[string]int64{"status 500": tt.failed}}); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.failed, tt.offered, got, tt.want)
		}
	}
}
