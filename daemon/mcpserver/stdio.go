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
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine limits one message on stdio, in bytes. It is enough for the longest content of
// memory_remember with every character escaped.
const maxLine = 64 << 20

// maxCalls is how many calls of one stdio client run at the same time. Further ones wait.
const maxCalls = 32

// ServeStdio serves one client, which writes messages to in and reads them from out, one per line.
// It returns nil when in ends, after the calls that arrived before have been answered, and the
// context's error when that ends. It does not close in: a Read that blocks continues in the
// background until it returns.
//
// The client is the user of this process, so tools may use files and the network of this machine.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	server := s.mcpServer(true)
	slots := make(chan struct{}, maxCalls)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			return next(ctx, method, req)
		}
	})
	err := server.Run(ctx, newLines(in, out))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// lines is a transport of one JSON-RPC message per line. Unlike the SDK's, it answers a line that
// is no message with an error and goes on, and answers the calls before the end of the input.
type lines struct {
	in  *bufio.Reader
	out io.Writer

	incoming chan line
	closed   chan struct{}
	close    func()

	writing sync.Mutex // of out

	mu   sync.Mutex
	open map[jsonrpc.ID]struct{} // calls without a response
	idle chan struct{}           // closed when open becomes empty; nil until somebody waits
}

// line is a message, or why there is none.
type line struct {
	data []byte
	err  error
}

func newLines(in io.Reader, out io.Writer) *lines {
	l := &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out,
		incoming: make(chan line), closed: make(chan struct{}), open: map[jsonrpc.ID]struct{}{},
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
		select {
		case l.incoming <- line{data, err}:
		case <-l.closed:
			return
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// next reads a line. Of a line that is too long it keeps nothing.
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
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case got := <-l.incoming:
			msg, reject, err := l.parse(ctx, got)
			if err != nil {
				return nil, err
			}
			if reject != nil {
				if err := l.Write(ctx, reject); err != nil {
					return nil, err
				}
			}
			if msg != nil {
				return msg, nil
			}
		}
	}
}

// parse returns the message of a line, the response to a line that is none, or the end of the
// input. All are nil for an empty line.
func (l *lines) parse(ctx context.Context, got line) (jsonrpc.Message, *jsonrpc.Response, error) {
	switch {
	case errors.Is(got.err, errLongLine):
		return nil, rejection(jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message has more than %d bytes", maxLine)), nil
	case got.err != nil:
		l.drain(ctx)
		return nil, nil, got.err
	}
	data := bytes.TrimSpace(got.data)
	switch {
	case len(data) == 0:
		return nil, nil, nil
	case !utf8.Valid(data) || !json.Valid(data):
		return nil, rejection(jsonrpc.CodeParseError, "the line is not valid JSON"), nil
	case data[0] == '[':
		return nil, rejection(jsonrpc.CodeInvalidRequest, "batches are not supported"), nil
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, rejection(jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC message: "+err.Error()), nil
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		req.Params = keepToken(req.Params)
		l.mu.Lock()
		l.open[req.ID] = struct{}{}
		l.mu.Unlock()
	}
	return msg, nil, nil
}

func rejection(code int64, why string) *jsonrpc.Response {
	return &jsonrpc.Response{Error: &jsonrpc.Error{Code: code, Message: why}}
}

// drain waits until every call has its response.
func (l *lines) drain(ctx context.Context) {
	l.mu.Lock()
	if len(l.open) == 0 {
		l.mu.Unlock()
		return
	}
	l.idle = make(chan struct{})
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-l.closed:
	}
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
	l.writing.Lock()
	_, err = l.out.Write(append(data, '\n'))
	l.writing.Unlock()
	if res, ok := msg.(*jsonrpc.Response); ok {
		l.answered(res.ID)
	}
	return err
}

func (l *lines) answered(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	if len(l.open) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}
