package progress

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
)

func TestStatusOfOneError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live load.Live
		work := func(uint64) load.Request {
			return load.Request{Op: "search", Do: func(context.Context) load.Outcome {
				time.Sleep(time.Second)
				return load.Outcome{Err: errors.New("down"), Kind: "transport"}
			}}
		}
		_, err := load.Run(t.Context(), load.Profile{Arrival: record.Closed, Concurrency: 1, Timeout: time.Minute},
			load.Span{Block: time.Second, Blocks: 1}, work, new(atomic.Uint64), &live)
		if got := Status(&live, time.Second); err != nil || !strings.HasSuffix(got, "  1 error") {
			t.Errorf("%q, %v", got, err)
		}
	})
}
