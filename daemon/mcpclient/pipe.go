package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/intake"
	"evalctl/internal/verbatim"
)

// Pipe initializes a connection to a server whose standard input and output are in and out. Lines
// that are not messages are left out, and given to noise, which is called by one goroutine and may
// be nil. Close closes in; the caller ends the process, which ends the connection too.
//
// The context limits Pipe, and has no effect on the connection afterwards. If it ends, or
// initialization fails, the caller must end the process.
//
// With old, only versions with initialize are asked for: see Ended.
func Pipe(
	ctx context.Context, in io.WriteCloser, out io.Reader, old bool, noise func(line []byte),
) (*Client, error) {
	if noise == nil {
		noise = func([]byte) {}
	}
	messages, stop := lines(out, noise)
	c, err := open(ctx, &mcp.IOTransport{Reader: messages, Writer: outgoing{in}, MaxLineLength: maxMarked}, old,
		func() error { stop(); return nil })
	if err != nil {
		return nil, fmt.Errorf("initialize the connection to the MCP server: %w", err)
	}
	return c, nil
}

// lines returns a reader of the output of filter. stop ends it.
func lines(from io.Reader, noise func([]byte)) (r io.ReadCloser, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	messages, filtered := io.Pipe()
	go func() { filtered.CloseWithError(filter(ctx, filtered, from, noise)) }()
	return messages, func() { cancel(); _ = messages.Close() }
}

// filter copies the lines that are messages, and the others too if noise is nil. It replaces a
// message that may not be decoded by the failure of its call. It returns io.EOF at the end. The
// memory of a line counts until the line is read.
func filter(ctx context.Context, to io.Writer, from io.Reader, noise func([]byte)) error {
	ctx, hold := intake.Begin(ctx)
	defer hold.End()
	lines := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		if err := hold.Draw(ctx, int64(len(part))); err != nil {
			return err
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxMessage:
			continue
		case len(line) > maxMessage:
			return fmt.Errorf("a line of the server is longer than %d MiB", maxMessage>>20)
		}
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0:
		case noise == nil || text[0] == '{':
			if problem := admit(ctx, text); problem != nil {
				text = refusal(text, problem)
			} else if noise != nil && !isMessage(text) {
				noise(text)
				text = nil
			}
			if len(text) == 0 {
				break
			}
			text = verbatim.Incoming(text)
			if _, err := to.Write(append(text[:len(text):len(text)], '\n')); err != nil {
				return err
			}
		default:
			noise(text)
		}
		if err != nil {
			return err
		}
		if line = line[:0]; cap(line) > maxKept {
			line = nil
		}
		hold.Return()
	}
}

// outgoing restores the ids of messages. The SDK writes each message at once.
type outgoing struct{ io.WriteCloser }

func (o outgoing) Write(line []byte) (int, error) {
	if _, err := o.WriteCloser.Write(verbatim.Outgoing(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// maxMarked limits a line with the texts for its ids.
const maxMarked = maxMessage + 1<<10

// maxKept is the size of a buffer for lines that is kept.
const maxKept = 1 << 20

func isMessage(line []byte) bool {
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}
