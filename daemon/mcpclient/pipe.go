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
)

// Pipe initializes a connection to a server whose standard input and output are in and out. Lines
// that are no messages are left out, and given to noise, which is called by one goroutine and may be
// nil. Close closes in; the caller ends the process, which ends the connection too.
//
// The context limits Pipe, and has no effect on the connection afterwards. If it ends, or
// initialization fails, the caller must end the process.
func Pipe(ctx context.Context, in io.WriteCloser, out io.Reader, noise func(line []byte)) (*Client, error) {
	if noise == nil {
		noise = func([]byte) {}
	}
	messages, filtered := io.Pipe()
	go func() { filtered.CloseWithError(filter(filtered, out, noise)) }()
	c, err := open(ctx, &mcp.IOTransport{Reader: messages, Writer: in, MaxLineLength: maxMessage},
		func() error { return messages.Close() })
	if err != nil {
		return nil, fmt.Errorf("initialize the connection to the MCP server: %w", err)
	}
	return c, nil
}

// filter copies the lines that are messages. It returns io.EOF at the end.
func filter(to io.Writer, from io.Reader, noise func([]byte)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxMessage:
			continue
		case len(line) > maxMessage:
			return fmt.Errorf("a line of the server is longer than %d MiB", maxMessage>>20)
		}
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0:
		case isMessage(text):
			if _, err := to.Write(append(text[:len(text):len(text)], '\n')); err != nil {
				return err
			}
		default:
			noise(text)
		}
		if err != nil {
			return err
		}
		line = line[:0]
	}
}

func isMessage(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}
