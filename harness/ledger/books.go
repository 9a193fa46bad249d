package ledger

import (
	"context"
	"iter"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Books keep the accounts of a run or a replay. A Ledger has the books of one process; processes on
// several machines share books in a database. Implementations are safe for concurrent use.
type Books interface {
	// Account returns the account for a phase of an arm.
	Account(phase Phase, arm string) llm.Account
	// Accounting returns the cost of an arm so far, "" for all arms. Requests in progress are not
	// included.
	Accounting(arm string) result.CostAccounting
	// Requests returns finished requests and cached replies in the order of their outcomes.
	// Requests that the provider rejected are left out. The sequence ends with an error.
	Requests(ctx context.Context) iter.Seq2[Request, error]
	// Saved returns the cost that the cache saved these arms together. Each cached reply counts
	// once; replies that these arms paid for themselves do not count. estimated is the number of
	// counted replies whose tokens the provider did not report.
	Saved(arms ...string) (saved llm.USD, estimated int)
	// Cap returns the spend cap, nil for none.
	Cap() *llm.USD
	// Spent returns the spending of all arms and phases, interrupted processes included.
	Spent() llm.USD
	// StartedAt returns when the run or replay began.
	StartedAt() time.Time
	// Sync makes all entries survive a crash of the machine.
	Sync() error
	// Err returns why the books can no longer be kept, or nil. After an error every request is
	// rejected.
	Err() error
}

var _ Books = (*Ledger)(nil)
