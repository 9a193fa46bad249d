package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"evalctl/internal/chain"
	"evalctl/internal/inputfile"
	"evalctl/internal/llm"
)

const version = 1

type startLine struct {
	Kind      string          `json:"kind"`
	Version   int             `json:"version"`
	StartedAt time.Time       `json:"started_at"`
	Cap       *llm.USD        `json:"cap_usd"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// The kinds of lines.
const (
	kindReplay  = "replay"
	kindReserve = "reserve" // USD is the worst case
	kindSettle  = "settle"  // the outcome; without an ID, of a free request
	kindHit     = "hit"     // a cached reply, USD is what it saved
	kindMiss    = "miss"
	kindCap     = "cap" // a new cap
)

// line is a line after the first one.
type line struct {
	Kind string `json:"kind"`
	ID   int64  `json:"id,omitempty"` // of a reservation
	account
	// At is when the line was written. Question is the question of the request, empty if unknown.
	At       time.Time `json:"at,omitzero"`
	Question string    `json:"question,omitempty"`
	Model    string    `json:"model,omitempty"`
	USD      llm.USD   `json:"usd"`
	// Options are what a new cap adds to the options of the start.
	Options json.RawMessage `json:"options,omitempty"`
	// Reply names the reply that a hit found, or that was stored after a miss.
	Reply string `json:"reply,omitempty"`
	// The fields below belong to an outcome.
	Lost         llm.USD `json:"lost_usd,omitempty"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	Estimated    bool    `json:"estimated,omitempty"`
	Rejected     bool    `json:"rejected,omitempty"`
	Unpriced     bool    `json:"unpriced,omitempty"`
	Implausible  bool    `json:"usage_implausible,omitempty"`
}

// account identifies an account.
type account struct {
	Phase Phase  `json:"phase,omitempty"`
	Arm   string `json:"arm,omitempty"`
}

// write appends a line. When write returns, the line survives the end of the process. After an
// error no further line is written. l.mu must be held.
func (l *Ledger) write(value any) error {
	if l.err != nil {
		return l.err
	}
	data, err := json.Marshal(value)
	var next chain.Chain
	if err == nil {
		data, next = l.chain.Link(nil, append(data, '\n'))
		_, err = l.file.WriteAt(data, l.end)
	}
	if err != nil {
		l.err = fmt.Errorf("write %s: %w; no request is made without it", l.path, err)
		return l.err
	}
	l.end += int64(len(data))
	l.chain = next
	return nil
}

func (l *Ledger) load() error {
	r := bufio.NewReaderSize(l.file, 1<<20)
	for n := 1; ; n++ {
		data, err := inputfile.Line(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
		err = l.accept(n, data)
		if err == nil {
			if l.chain, err = l.chain.Check(data); err != nil {
				err = damaged(err)
			}
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", l.path, n, err)
		}
		l.end += int64(len(data))
	}
	if l.start.Kind == "" {
		return fmt.Errorf("%s contains no replay; start a new one", l.path)
	}
	l.setBudget(l.start.Cap)
	if err := l.file.Truncate(l.end); err != nil {
		return fmt.Errorf("drop the unfinished last line of %s: %w", l.path, err)
	}
	return l.file.Renew(ErrBusy)
}

func damaged(err error) error {
	return fmt.Errorf("the ledger is damaged: %w; the amount spent is unknown, so start a new replay", err)
}

// accept reads line n of a ledger, counted from 1.
func (l *Ledger) accept(n int, data []byte) error {
	if n == 1 {
		return l.acceptStart(data)
	}
	var in line
	err := json.Unmarshal(data, &in)
	if err == nil {
		err = l.check(in)
	}
	if err != nil {
		return damaged(err)
	}
	switch in.Kind {
	case kindCap:
		l.start.Cap = &in.USD
		if err := l.addOptions(in); err != nil {
			return damaged(err)
		}
	case kindReserve:
		l.lastID = in.ID
		l.open[in.ID] = in
	default:
		l.add(in)
	}
	return nil
}

func (l *Ledger) acceptStart(data []byte) error {
	var start startLine
	if err := json.Unmarshal(data, &start); err != nil || start.Kind != kindReplay {
		return errors.New("not a ledger: the first line does not begin a replay; resume another file or start a new replay")
	}
	if start.Version != version {
		return fmt.Errorf("the ledger has version %d, this evalctl writes %d; "+
			"resume it with the evalctl that began it, or start a new replay", start.Version, version)
	}
	l.start = start
	return nil
}

// check returns an error for an invalid line.
func (l *Ledger) check(in line) error {
	if in.InputTokens < 0 || in.OutputTokens < 0 || in.Lost > in.USD {
		return errors.New("an amount is out of range")
	}
	known := in.Phase.valid()
	switch in.Kind {
	case kindReserve:
		known = known && in.ID > l.lastID
	case kindSettle:
		held, reserved := l.open[in.ID]
		known = known && (in.ID == 0 || reserved && held.account == in.account && held.Model == in.Model)
	case kindHit, kindMiss:
		known = known && in.ID == 0
	case kindCap:
		known = in.account == account{}
	default:
		known = false
	}
	if !known {
		return fmt.Errorf("a line of kind %q has no place here", in.Kind)
	}
	return nil
}

// chargeLost counts requests without an outcome in full.
func (l *Ledger) chargeLost() error {
	for _, id := range slices.Sorted(maps.Keys(l.open)) {
		held := l.open[id]
		held.Kind, held.Lost = kindSettle, held.USD
		if err := l.write(held); err != nil {
			return err
		}
		l.add(held)
		l.budget.Charge(held.USD)
	}
	return nil
}
