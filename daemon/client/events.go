package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

// Events follows the brain's changes (spec 6.1) until the stream ends. It calls attached, unless
// that is nil, when the daemon reports that the stream is ready: emit is called with every change
// that is committed from then on, in commit order. Earlier changes are not replayed (spec 6.2). A
// daemon may disconnect a client whose emit is slow.
//
// Events never returns nil. The error wraps io.EOF if the daemon ended the stream. An error of emit
// ends the stream and is returned. Options.Timeout applies until the stream is attached. After that
// the error wraps context.DeadlineExceeded if nothing arrives for Options.Silence, not counting the
// time that emit takes.
func (b *Brain) Events(
	ctx context.Context, attached func(), emit func(protocol.ChangeEvent) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(b.c.timeout, func() { cancel(timeoutError(b.c.timeout)) })
	defer late.Stop()
	r := request{method: http.MethodGet, path: b.path + "/events", accept: protocol.TypeEvents}
	res, err := b.c.do(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	silent := time.AfterFunc(b.c.silence, func() { cancel(silenceError(b.c.silence)) })
	defer silent.Stop()
	for events := sse.NewReader(res.Body, 0); ; {
		event, err := events.Next()
		if err != nil {
			return transportError(ctx, r, err)
		}
		silent.Stop()
		switch event.Name {
		case protocol.EventReady:
			if late.Stop() && attached != nil {
				attached()
			}
		case protocol.EventChange:
			var change protocol.ChangeEvent
			if err := unmarshal(r, event, &change); err != nil {
				return err
			}
			if err := emit(change); err != nil {
				return err
			}
		}
		silent.Reset(b.c.silence)
	}
}

// silenceError is a stream on which nothing arrived for Options.Silence.
type silenceError time.Duration

func (e silenceError) Error() string {
	return fmt.Sprintf("nothing arrived for %v, not even a ping: changes of that time may be missed",
		time.Duration(e))
}

func (e silenceError) Unwrap() error { return context.DeadlineExceeded }
