package mcpserver

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestSettleWaitsOnce gives up on a client that does not answer pings until it answers one.
func TestSettleWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newLines(strings.NewReader(""), &out)
		l.version = "2025-11-25"
		pong := func(id string) {
			msg, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":"` + id + `","result":{}}`))
			if err != nil || !l.settled(msg.(*jsonrpc.Response)) {
				t.Errorf("%s is not the answer to a ping, %v", id, err)
			}
		}
		l.settle(t.Context()) // the clock of the bubble passes by itself
		l.settle(t.Context())
		if want := `{"jsonrpc":"2.0","id":"settle-1","method":"ping"}` + "\n"; out.String() != want {
			t.Errorf("sent %s", out.String())
		}
		pong("settle-1") // late
		done := make(chan struct{})
		go func() {
			l.settle(t.Context())
			close(done)
		}()
		synctest.Wait()
		pong("settle-2")
		<-done
		if n := strings.Count(out.String(), "ping"); n != 2 {
			t.Errorf("sent %s", out.String())
		}
		// Nobody answers after the end of the input, and versions may have no ping.
		close(l.ended)
		l.settle(t.Context())
		l.version = stateless
		l.settle(t.Context())
		l.version = ""
		l.settle(t.Context())
		if n := strings.Count(out.String(), "ping"); n != 3 || l.pings.deaf {
			t.Errorf("sent %s", out.String())
		}
	})
}

// TestStrayResponses: responses that answer no ping are left to the SDK.
func TestStrayResponses(t *testing.T) {
	l := newLines(strings.NewReader(""), io.Discard)
	l.version = "2025-11-25"
	for _, id := range []any{"settle-1", 1.0} {
		id, err := jsonrpc.MakeID(id)
		if err != nil || l.settled(&jsonrpc.Response{ID: id}) {
			t.Errorf("%v: %v", id, err)
		}
	}
}
