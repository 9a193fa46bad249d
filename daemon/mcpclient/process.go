package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/environ"
)

// endTimeout is how long a command may take to end after its standard input has been closed.
const endTimeout = 10 * time.Second

// process is a server that was started as a command.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
}

func startProcess(ctx context.Context, command string, opts Options) (*process, error) {
	words, err := shellquote.Split(command)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty: give stdio:COMMAND")
	}
	// The connection outlives the context of Connect.
	ctx = context.WithoutCancel(ctx)
	p := &process{cmd: exec.CommandContext(ctx, words[0], words[1:]...)}
	p.cmd.Stderr = opts.Stderr
	p.cmd.Env = environ.Of(os.Environ(), nil, opts.Env)
	p.cmd.WaitDelay = time.Second // for grandchildren that keep the pipes open
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	return p, nil
}

// transport returns the connection to the server, and a function that ends the reading of its
// output.
func (p *process) transport() (mcp.Transport, func()) {
	messages, stop := lines(p.stdout, nil)
	return &mcp.IOTransport{Reader: messages, Writer: outgoing{p.stdin}, MaxLineLength: maxMarked}, stop
}

// wait waits for the end of the command, whose standard input is closed.
func (p *process) wait() error {
	_ = p.stdin.Close() // if the connection failed, it is still open
	late := time.AfterFunc(endTimeout, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	if !late.Stop() {
		return fmt.Errorf("the command was killed: it did not end within %v of its input", endTimeout)
	}
	if err != nil {
		return fmt.Errorf("the command failed: %w", err)
	}
	return nil
}
