// Package account is the money of one command: what all models together may cost, what they have
// cost, and the bill. It joins the ledger, in which evalctl's own requests are, with the gateways
// through which daemons call their models that were started.
package account

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"evalctl/harness"
	"evalctl/harness/gateway"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Config says what is counted.
type Config struct {
	// The ledger is in Dir, with a name of Name, which is what is measured, and of Started, when the
	// command began that created it.
	Dir, Name string
	Started   time.Time
	// Limit is how much all models together may cost, nil for any amount.
	Limit  *llm.USD
	Prices llm.Prices
	// Paid is set if evalctl's own requests may cost money.
	Paid bool
	// Daemons are the models that started daemons call, by the name of what is measured.
	Daemons map[string]gateway.Models
}

// Account is the money of a command. A nil *Account is that of one which calls no model that may
// cost something. Its methods may be called concurrently, but for Close and Remove.
type Account struct {
	books  *ledger.Ledger
	gates  map[string]*gateway.Gates
	name   string
	closed bool
}

// Open returns the account of a command that begins, or one that is resumed with the ledger that it
// left behind. before is what it had spent on a judge if it has no ledger. The caller must call
// Close.
func Open(c Config, resume bool, before llm.USD) (_ *Account, err error) {
	a := &Account{name: c.Name, gates: map[string]*gateway.Gates{}}
	for name, m := range c.Daemons {
		if m.Upstream != nil || m.Embedding != nil {
			a.gates[name] = new(gateway.Gates)
		}
	}
	if !c.Paid && len(a.gates) == 0 {
		return nil, nil
	}
	if a.books, err = c.open(resume, before); err != nil {
		return nil, err
	}
	for name, g := range a.gates {
		err := g.Open(gateway.Config{
			Ledger: a.books, Prices: c.Prices, Arm: name,
			Log: slog.New(slog.DiscardHandler), // what it rejects is the error of the command
		}, c.Daemons[name])
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

func (c Config) open(resume bool, before llm.USD) (*ledger.Ledger, error) {
	path := filepath.Join(c.Dir, c.Name+"-"+c.Started.UTC().Format("20060102T150405.000000000Z")+ledger.Ext)
	var l *ledger.Ledger
	err := fs.ErrNotExist
	if resume {
		l, err = ledger.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		l, err = ledger.Create(path, nil, c.Started, c.Limit)
		if err == nil && before > 0 {
			err = l.Carry(ledger.Judge, c.Name, before)
		}
	} else if err == nil {
		var limit *llm.USD
		if limit, err = ledger.NewCap(l.Cap(), c.Limit); limit != nil {
			err = l.SetCap(*limit)
		}
	}
	if err != nil && l != nil {
		err = errors.Join(err, l.Close())
	}
	return l, err
}

// Environment returns the variables that have a daemon use its gateways, NAME=VALUE.
func (a *Account) Environment(name string) []string {
	if a == nil || a.gates[name] == nil {
		return nil
	}
	return a.gates[name].Environment()
}

// Judge returns the account of requests to judges.
func (a *Account) Judge() llm.Account {
	if a == nil {
		return llm.NewAccount(nil)
	}
	return a.books.Account(ledger.Judge, a.name)
}

// Enter says what a daemon calls its models for until the caller leaves: ledger.Actor while it is
// asked, ledger.Ingest while it is given documents or sessions. It waits until the daemon does
// nothing of the other phase, so that each of its requests is counted for the right one.
func (a *Account) Enter(name string, p ledger.Phase) (leave func()) {
	if a == nil || a.gates[name] == nil {
		return func() {}
	}
	return a.gates[name].Enter(p)
}

// Watch returns a context that ends when a request of a daemon was rejected that would have cost
// too much, or whose cost is not known. The reason is its cause.
func (a *Account) Watch(ctx context.Context) (_ context.Context, stop func()) {
	stop = func() {}
	if a == nil {
		return ctx, stop
	}
	for _, g := range a.gates {
		var end func()
		before := stop
		ctx, end = g.Watch(ctx)
		stop = func() { end(); before() }
	}
	return ctx, stop
}

// Spent returns what was spent so far, what may have been charged included.
func (a *Account) Spent() llm.USD {
	if a == nil {
		return 0
	}
	return a.books.Spent()
}

// Write writes a run that has ended, with its cost, and returns the path of the result. The ledger
// of one that can be resumed is kept.
//
// answers is set if the daemon is configured with a model for its answers. If it has asked none, it
// has another model, or one whose cost is not counted, and the result says so.
func (a *Account) Write(ctx context.Context, e *harness.EndedRun, answers bool) (path string, err error) {
	if err := a.Fill(context.WithoutCancel(ctx), &e.Result.Cost.Spending, e.OwnPath()); err != nil {
		return "", errors.Join(e.Stopped, err)
	}
	if m := e.Result.Cost.ModelRequests; m != nil && answers && m.Answers.Made == 0 && e.Result.Counts.Scored > 0 {
		m.Silent = append(m.Silent, result.Answers)
	}
	path, err = e.Write()
	if e.Over() {
		err = errors.Join(err, a.Remove())
	}
	return path, err
}

// Fill sets the total of a cost, its parts and its bill, which is written beside the result file
// own. The daemon must have been stopped.
func (a *Account) Fill(ctx context.Context, c *result.Spending, own string) error {
	if a == nil {
		if c.Parts == nil {
			c.SetParts(result.CostParts{}, nil)
		}
		return nil
	}
	c.CapUSD = a.books.Cap()
	if err := errors.Join(a.closeGates(), a.books.Err(), a.books.Sync()); err != nil {
		return err
	}
	bill, err := ledger.WriteBill(ctx, a.books, own)
	if err != nil {
		return err
	}
	sums := a.books.Accounting("")
	c.SetParts(sums.Parts(), sums.Missing())
	c.Bill = bill
	for _, g := range a.gates {
		asked, _ := g.Requests()
		if c.ModelRequests != nil {
			asked = asked.Plus(*c.ModelRequests)
		}
		c.ModelRequests = &asked
	}
	return nil
}

// Close keeps the ledger, unless nothing was spent. It does nothing after Remove.
func (a *Account) Close() error {
	switch {
	case a == nil || a.closed:
		return nil
	case a.books.Spent() == 0:
		return a.Remove()
	}
	a.closed = true
	return errors.Join(a.closeGates(), a.books.Close())
}

// Remove closes the account and deletes the ledger. It is called once nothing is left to resume:
// the bill has what the ledger had.
func (a *Account) Remove() error {
	if a == nil || a.closed {
		return nil
	}
	a.closed = true
	return errors.Join(a.closeGates(), a.books.Remove())
}

func (a *Account) closeGates() error {
	var errs []error
	for _, g := range a.gates {
		errs = append(errs, g.Close())
	}
	return errors.Join(errs...)
}
