package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long git may take to end after its context has.
const stopTimeout = 5 * time.Second

// settings keep the git program from everything but the one thing it is asked
// to do: no hooks, no maintenance, no submodules, no signing of its own.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.fsync=committed,reference", "core.attributesFile=" + os.DevNull,
	"gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false",
	"submodule.recurse=false", "push.recurseSubmodules=no", "fetch.recurseSubmodules=no",
	"push.followTags=false", "push.gpgSign=false", "merge.directoryRenames=false",
}

// programError is a git program that ended with a code other than 0.
type programError struct {
	command string
	code    int
	stdout  []byte
	detail  string // of what it wrote to stderr
}

func (e *programError) Error() string {
	return fmt.Sprintf("git %s ended with %d: %s", e.command, e.code, e.detail)
}

// run runs the git program on the repository, without a shell and without the
// settings of user, system and environment: only the repository's own count.
func (b *backend) run(ctx context.Context, command string, args ...string) (stdout []byte, err error) {
	line := []string{"--no-pager", "--git-dir=" + filepath.Join(b.Root.Name(), gitDir), "--work-tree=" + b.Root.Name()}
	for _, s := range settings {
		line = append(line, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(append(line, command), args...)...)
	cmd.Dir = b.Root.Name()
	env := slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err = cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, &programError{command: command, code: exit.ExitCode(), stdout: out.Bytes(), detail: detail(stderr.String())}
	}
	return nil, fmt.Errorf("git %s: %w", command, err)
}

var credentials = regexp.MustCompile(`://[^/@\s]+@`)

// detail makes one line of what a program or a remote wrote, without the
// passwords of addresses.
func detail(text string) string {
	const longest = 500
	text = credentials.ReplaceAllString(text, "://")
	text = strings.Join(strings.Fields(printable(text, "")), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}
