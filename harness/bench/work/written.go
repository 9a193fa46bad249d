package work

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/target"
)

// Write is an acknowledged write of a document.
type Write struct {
	brain  string
	number uint64 // of the request
	part   int    // of a batch
}

// ErrLost means that an acknowledged document is missing or was changed.
var ErrLost = errors.New("an acknowledged write is lost")

// acknowledge reports acknowledged documents.
func (r *Requests) acknowledge(err error, brain string, number uint64, docs int) {
	if err == nil && r.Written != nil {
		for i := range docs {
			r.Written(Write{brain, number, i})
		}
	}
}

// Check reads a document again. It returns ErrLost if it differs from the written one, and another
// error if it cannot be read.
func (r *Requests) Check(ctx context.Context, w Write) error {
	doc := r.newDoc(w.number, w.part)
	s := *r.service.Load()
	reader, err := target.Find[target.Reader](s, target.Get)
	if err != nil {
		return err
	}
	texts, err := reader.Get(ctx, w.brain, doc.Path)
	switch {
	case err != nil:
		return err
	case texts == nil:
		return fmt.Errorf("%w: %s is not there", ErrLost, doc.Path)
	case s.Lacks(target.Protocol) == "":
		if texts[0] != string(doc.Data) {
			return fmt.Errorf("%w: %s has other content than was written", ErrLost, doc.Path)
		}
		return nil
	}
	mark := strings.SplitN(string(doc.Data), "\n", 2)[0]
	if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, mark) }) {
		return fmt.Errorf("%w: %s is not there", ErrLost, doc.Path)
	}
	return nil
}

// Hold begins n ask streams, each within a time, and leaves them unread until release is called.
func (r *Requests) Hold(ctx context.Context, n int, within time.Duration) (release func(), err error) {
	e, daemon := Wire(*r.service.Load())
	if !daemon {
		return nil, errors.New("--chaos slow-client is for targets that stream answers by the protocol")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var held []*http.Response
	release = func() {
		cancel(nil)
		for _, res := range held {
			_ = res.Body.Close() // nothing of it is wanted
		}
	}
	for i := range n {
		limit := time.AfterFunc(within, func() { cancel(fmt.Errorf("%w within %v", target.ErrNoAnswer, within)) })
		res, err := e.Do(ctx, target.Request{ //nolint:bodyclose // release closes it
			Method: http.MethodPost, Path: target.BrainPath(r.brains[0]) + "/ask", ContentType: protocol.TypeJSON, Accept: protocol.TypeEvents,
			Body: r.queries[i%len(r.queries)].ask,
		})
		limit.Stop()
		if err != nil {
			release()
			return nil, fmt.Errorf("hold an ask stream open: %w", err)
		}
		held = append(held, res) //nolint:bodyclose // release closes it
	}
	return release, nil
}
