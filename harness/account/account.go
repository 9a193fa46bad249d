// Package account manages the money of one command: a cap on the cost of all models together, the
// cost so far, and the bill. It combines the ledger of evalctl's own requests with the gateways
// through which started daemons call their models.
package account

import (
	"context"
	"encoding/json"
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

// Config configures Open.
type Config struct {
	// The ledger is stored in Dir. Its name consists of Name and Started, the start of the command
	// that created it.
	Dir, Name string
	Started   time.Time
	// Limit caps the cost of all models together, nil for no cap. LimitOptions are the options that
	// a resumed command keeps of it, nil unless its command line gives it.
	Limit        *llm.USD
	LimitOptions json.RawMessage
	Prices       llm.Prices
	// Paid is set if evalctl's own requests may cost money.
	Paid bool
	// Daemons are the models called by started daemons, by the name of the target.
	Daemons map[string]gateway.Models
}

// Account has the money of a command. A nil *Account belongs to a command that calls no model with
// a cost. Its methods are safe for concurrent use, except Close and Remove.
type Account struct {
	books  *ledger.Ledger
	gates  map[string]*gateway.Gates
	name   string
	capped bool // the ledger has a cap that nothing else keeps
	closed bool
}

// Open returns the account of a new command, or of a resumed one with its ledger. before is the
// earlier spending on a judge if a resumed command has no ledger. The caller must call Close.
func Open(c Config, resume bool, before llm.USD) (_ *Account, err error) {
	a := &Account{name: c.Name, capped: resume && c.Limit != nil, gates: map[string]*gateway.Gates{}}
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

// Kept returns the options and the cap that a resumed command has kept, nil for none.
func (c Config) Kept() (options json.RawMessage, limit *llm.USD, err error) {
	l, err := ledger.Open(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return l.Options(), l.Cap(), l.Close()
}

func (c Config) path() string {
	return filepath.Join(c.Dir, c.Name+"-"+c.Started.UTC().Format("20060102T150405.000000000Z")+ledger.Ext)
}

func (c Config) open(resume bool, before llm.USD) (*ledger.Ledger, error) {
	var l *ledger.Ledger
	var options json.RawMessage
	err := fs.ErrNotExist
	if resume {
		options = c.LimitOptions
		l, err = ledger.Open(c.path())
	}
	if errors.Is(err, fs.ErrNotExist) {
		l, err = ledger.Create(c.path(), options, c.Started, c.Limit)
		if err == nil && before > 0 {
			err = l.Carry(ledger.Judge, c.Name, before)
		}
	} else if err == nil {
		var limit *llm.USD
		if limit, err = ledger.NewCap(l.Cap(), c.Limit, options != nil); limit != nil {
			err = l.SetCap(*limit, options)
		}
	}
	if err != nil && l != nil {
		err = errors.Join(err, l.Close())
	}
	return l, err
}

// Environment returns the variables NAME=VALUE that make a daemon use its gateways.
func (a *Account) Environment(name string) []string {
	if a == nil || a.gates[name] == nil {
		return nil
	}
	return a.gates[name].Environment()
}

// Judge returns the account for requests to judges.
func (a *Account) Judge() llm.Account {
	if a == nil {
		return llm.NewAccount(nil)
	}
	return a.books.Account(ledger.Judge, a.name)
}

// Enter sets the phase of a daemon's model requests until the caller calls leave: ledger.Actor
// while it answers questions, ledger.Ingest while it is given documents or sessions. Enter waits
// until the daemon does nothing of the other phase, so that each request is counted in the right
// one.
func (a *Account) Enter(name string, p ledger.Phase) (leave func()) {
	if a == nil || a.gates[name] == nil {
		return func() {}
	}
	return a.gates[name].Enter(p)
}

// Watch returns a context that ends when a daemon's request is rejected because it would cost too
// much or its cost is unknown. The reason is the cause of the context.
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

// Spent returns the spending so far, including possible charges.
func (a *Account) Spent() llm.USD {
	if a == nil {
		return 0
	}
	return a.books.Spent()
}

// Freeze makes the amount spent the cap of the command if it is resumed, and returns the path of
// its ledger, empty if there is nothing to resume. No request may be in progress.
func (a *Account) Freeze() (path string, err error) {
	if a == nil || a.closed {
		return "", nil
	}
	a.capped = true
	return a.books.Path(), a.books.SetCap(a.books.Spent(), nil)
}

// Write writes an ended run with its cost, and returns the path of the result. It keeps the ledger
// of a run that can be resumed.
//
// answers is set if the daemon is configured with a model for its answers. If it never called the
// model, it uses another one, or one whose cost is not counted, and the result says so.
func (a *Account) Write(ctx context.Context, e *harness.EndedRun, answers bool) (path string, err error) {
	cost := &e.Result.Cost.Spending
	err = a.Fill(context.WithoutCancel(ctx), cost, e.OwnPath())
	if err == nil && cost.ModelRequests != nil {
		err = e.Requested(*cost.ModelRequests)
	}
	if err != nil {
		return "", errors.Join(e.Stopped, err)
	}
	if m := cost.ModelRequests; m != nil && answers && m.Answers.Made == 0 && !m.SinceResumed && e.Result.Counts.Scored > 0 {
		m.Silent = append(m.Silent, result.Answers)
	}
	path, err = e.Write()
	if e.Over() {
		err = errors.Join(err, a.Remove())
	}
	return path, err
}

// Fill sets the total of a cost, its parts and its bill, which it writes next to the result file
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

// Close keeps the ledger, unless it has no request and no cached reply, and no cap is to be kept.
// It does nothing after Remove.
func (a *Account) Close() error {
	if a == nil || a.closed {
		return nil
	}
	a.closed = true
	err := a.closeGates() // charges requests that are not answered yet
	// Requests without a known price, or free ones, are in the bill of a resumed run too.
	used := a.books.Accounting("")
	if a.books.Spent() == 0 && len(used.Tokens) == 0 && used.CacheHits == 0 && !a.capped {
		return errors.Join(err, a.books.Remove())
	}
	return errors.Join(err, a.books.Close())
}

// Remove closes the account and deletes the ledger. Call it once nothing is left to resume: the
// bill replaces the ledger.
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
