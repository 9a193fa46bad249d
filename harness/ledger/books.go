package ledger

import (
	"context"
	"iter"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Books keep the money of a run or a replay. A Ledger is the books of one process; processes on
// several machines share those in a database. Implementations are safe for concurrent use.
type Books interface {
	// Account returns the account of a phase of an arm.
	Account(phase Phase, arm string) llm.Account
	// Accounting returns what an arm has cost so far, "" for all arms together. Requests in
	// progress are not included.
	Accounting(arm string) result.CostAccounting
	// Requests returns the requests that are over, and the replies from a cache, in the order of their
	// outcomes. Requests that the provider did not accept are left out. The sequence ends with an
	// error.
	Requests(ctx context.Context) iter.Seq2[Request, error]
	// Saved returns what the cached replies that some arms have got would have cost them together
	// with an empty cache: each once, and without those that they paid for themselves. estimated
	// counts the replies of that sum whose tokens the provider did not count.
	Saved(arms ...string) (saved llm.USD, estimated int)
	// Cap returns the limit on what may be spent, nil for none.
	Cap() *llm.USD
	// Spent returns what all arms and phases have spent, interrupted processes included.
	Spent() llm.USD
	// StartedAt returns when the run or replay began.
	StartedAt() time.Time
	// Sync makes everything survive a crash of the machine.
	Sync() error
	// Err returns why the books cannot be kept any more, or nil. Every request is rejected then.
	Err() error
}

var _ Books = (*Ledger)(nil)
