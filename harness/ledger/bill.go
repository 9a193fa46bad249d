package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// billExt is the file extension of bills.
const billExt = ".bill.jsonl"

// Part returns the part of a result's cost that the phase belongs to.
func (p Phase) Part() result.CostPartName {
	switch p {
	case Actor:
		return result.PartReader
	case Judge:
		return result.PartJudge
	case Embed:
		return result.PartEmbeddings
	}
	return result.PartDaemon
}

// WriteBill writes the bill of arms (all if none is given) next to the result file own, under the
// same base name. Without requests it writes nothing and returns nil.
func WriteBill(ctx context.Context, b Books, own string, arms ...string) (*result.Bill, error) {
	var bill *result.Bill
	path := strings.TrimSuffix(own, filepath.Ext(own)) + billExt
	err := atomicfile.Write(path, 0o644, func(to io.Writer) error {
		buffered := bufio.NewWriter(to)
		w := newBillWriter(buffered)
		for line, err := range b.Requests(ctx) {
			if err != nil {
				return err
			}
			if len(arms) > 0 && !slices.Contains(arms, line.Arm) {
				continue
			}
			if err := w.add(line.BillLine); err != nil {
				return err
			}
		}
		if bill = w.bill(filepath.Base(path)); bill.Requests == 0 {
			return errNoRequests
		}
		return buffered.Flush()
	})
	if errors.Is(err, errNoRequests) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("write the bill %s: %w", path, err)
	}
	return bill, nil
}

// errNoRequests cancels the writing of an empty bill.
var errNoRequests = errors.New("no request was made")

// Request is a finished request or a cached reply.
type Request struct {
	Arm string
	result.BillLine
}

// Requests implements Books. It reads the file.
func (l *Ledger) Requests(context.Context) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		l.mu.Lock()
		end := l.end
		l.mu.Unlock()
		r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, end), 1<<20)
		for n := 1; ; n++ {
			data, err := inputfile.Line(r)
			if errors.Is(err, io.EOF) {
				return
			}
			var in line
			if err == nil && n > 1 {
				err = json.Unmarshal(data, &in)
			}
			if err != nil {
				yield(Request{}, fmt.Errorf("%s:%d: %w", l.path, n, err))
				return
			}
			if in.Kind != kindSettle && in.Kind != kindHit || in.Rejected {
				continue
			}
			if !yield(in.request(), nil) {
				return
			}
		}
	}
}

// request converts a line of kindSettle or kindHit to a Request.
func (in *line) request() Request {
	out := Request{in.Arm, result.BillLine{
		At: in.At, Part: in.Phase.Part(), Question: in.Question, Model: in.Model,
		InputTokens: in.InputTokens, OutputTokens: in.OutputTokens, Estimated: in.Estimated, Unpriced: in.Unpriced,
	}}
	if in.Kind == kindHit {
		out.Cached, out.SavedUSD = true, in.USD
	} else {
		out.USD, out.MayHaveUSD = in.USD, in.Lost
	}
	return out
}
