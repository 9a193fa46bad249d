package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/verbatim"
)

// maxLine limits one message on stdio, in bytes. It is enough for the longest content of
// memory_remember with every character escaped.
const maxLine = 64 << 20

// lines is a transport of one JSON-RPC message per line. Unlike the SDK's, it goes on after an
// invalid line, which it answers with an error. It answers the calls before the end of the input,
// but no cancelled call.
type lines struct {
	in  *bufio.Reader
	out io.Writer

	incoming chan line
	ended    chan struct{} // closed at the end of the input
	closed   chan struct{}
	close    func()

	queue []jsonrpc.Message // only for Read
	end   error             // of the input, only for Read
	idle  <-chan struct{}   // only for Read; nil until the end

	calls   calls
	writing sync.Mutex // of out

	mu      sync.Mutex
	version string // of the protocol; empty until it is negotiated
	pings   pings

	settleTime time.Duration
}

// line is a message, or why there is none.
type line struct {
	data []byte
	err  error
}

func newLines(in io.Reader, out io.Writer) *lines {
	l := &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out,
		incoming: make(chan line), ended: make(chan struct{}), closed: make(chan struct{}),
		calls: calls{open: map[jsonrpc.ID]*openCall{}},
		pings: pings{open: map[jsonrpc.ID]chan struct{}{}}, settleTime: settleTime,
	}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.scan()
	return l, nil
}

// SessionID implements mcp.Connection. A pipe has no sessions.
func (*lines) SessionID() string { return "" }

// Close implements mcp.Connection.
func (l *lines) Close() error {
	l.close()
	return nil
}

// scan reads lines until the input ends.
func (l *lines) scan() {
	for {
		data, err := l.next()
		last := err != nil && !errors.Is(err, errLongLine)
		if last {
			close(l.ended)
		}
		select {
		case l.incoming <- line{data, err}:
		case <-l.closed:
		}
		if last {
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// next reads a line. It keeps nothing of a line that is too long.
func (l *lines) next() ([]byte, error) {
	var data []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(data)+len(part) > maxLine; long {
			data = nil
		} else {
			data = append(data, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(data)) > 0:
			return data, nil // the last line has no end
		case err != nil:
			return nil, err
		case long:
			return nil, errLongLine
		}
		return data, nil
	}
}

// Read implements mcp.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(l.queue) > 0 {
			msg := l.queue[0]
			l.queue = l.queue[1:]
			return msg, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case <-l.idle:
			return nil, l.end
		case got := <-l.incoming:
			if err := l.accept(ctx, got); err != nil {
				return nil, err
			}
		}
	}
}

// accept queues the message of a line, and answers an invalid line. At the end of the input, calls
// remain to be answered.
func (l *lines) accept(ctx context.Context, got line) error {
	data := bytes.TrimSpace(got.data)
	switch {
	case errors.Is(got.err, errLongLine):
		return l.Write(ctx, rejection(jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message has more than %d bytes", maxLine)))
	case got.err != nil:
		l.end, l.idle = got.err, l.calls.wait()
		return nil
	case len(data) == 0:
		return nil
	}
	i := parse(data)
	if i.reject == nil {
		i.reject = l.enqueue(i.message)
	}
	if req, ok := i.message.(*jsonrpc.Request); i.reject == nil || ok && !req.IsCall() {
		return nil // nobody waits for the answer to a notification
	}
	out, err := jsonrpc.EncodeMessage(i.reject)
	if err != nil {
		return err
	}
	return l.write(verbatim.Outgoing(out))
}

func (l *lines) enqueue(msg jsonrpc.Message) (reject *jsonrpc.Response) {
	if res, ok := msg.(*jsonrpc.Response); ok && l.settled(res) {
		return nil
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		switch {
		case req.IsCall():
			if !l.calls.begin(req) {
				return rejection(jsonrpc.CodeInvalidRequest, "an earlier call with this id has no response yet")
			}
		case req.Method == methodCancelled:
			if id, ok := cancelled(req); !ok || !l.calls.cancel(id) {
				return nil
			}
		}
	}
	l.queue = append(l.queue, msg)
	return nil
}

// Write implements mcp.Connection.
func (l *lines) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	data = verbatim.Outgoing(data)
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return l.write(data)
	}
	out, method := l.calls.end(res.ID, data)
	defer l.calls.written()
	if method == methodInitialize {
		l.start(res)
	}
	return l.write(out)
}

// start keeps the version of the protocol that the response to initialize names.
func (l *lines) start(res *jsonrpc.Response) {
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(res.Result, &result) // an error has none
	l.mu.Lock()
	defer l.mu.Unlock()
	if result.ProtocolVersion != "" {
		l.version = result.ProtocolVersion
	}
}

// write writes a line, unless it is nil.
func (l *lines) write(data []byte) error {
	if data == nil {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(data, '\n'))
	return err
}
