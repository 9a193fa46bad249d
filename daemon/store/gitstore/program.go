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

// stopTimeout is the time that git has to exit after its context is done.
const stopTimeout = 5 * time.Second

// settings restrict the git program to the requested command: no hooks, no maintenance, no
// submodules, no signing.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.fsync=committed,reference",
	"core.attributesFile=" + os.DevNull,
	"gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false",
	"submodule.recurse=false", "push.recurseSubmodules=no", "fetch.recurseSubmodules=no",
	"push.followTags=false", "push.gpgSign=false", "merge.directoryRenames=false",
}

// programError is returned when the git program exits with a code other than 0.
type programError struct {
	command string
	code    int
	stdout  []byte
	detail  string // errorDetail of stderr
}

func (e *programError) Error() string {
	return fmt.Sprintf("git %s exited with code %d: %s", e.command, e.code, e.detail)
}

// runGit runs the git program on the repository without a shell. The settings of the user, the
// system and the environment are ignored; only those of the repository apply.
func (b *backend) runGit(ctx context.Context, command string, args ...string) (stdout []byte, err error) {
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
		return nil, &programError{
			command: command, code: exit.ExitCode(), stdout: out.Bytes(), detail: errorDetail(stderr.String()),
		}
	}
	return nil, fmt.Errorf("git %s: %w", command, err)
}

var credentials = regexp.MustCompile(`://[^/@\s]+@`)

// errorDetail converts the output of git or of a remote into one line, without the credentials in
// addresses.
func errorDetail(text string) string {
	const longest = 500
	text = credentials.ReplaceAllString(text, "://")
	text = strings.Join(strings.Fields(sanitize(text, "")), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}
