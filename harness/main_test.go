package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"evalctl/harness/launch"
	"evalctl/internal/longtest"
)

// roleEnv makes the test binary play another process. A role ends when its stdin is closed, so that
// none outlives the tests.
const roleEnv = "HARNESS_TEST_ROLE"

var roles = map[string]func() error{
	"daemon": playDaemon,
	"run":    playRun,
}

// launched are the roles of processes that a Session starts, by their first argument. They end by
// themselves or with their process group.
var launched = map[string]func(args []string) error{
	"role:service":  playService,
	"role:watchdog": func([]string) error { return launch.Watchdog(os.Stdin, os.Stdout) },
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && launched[os.Args[1]] != nil {
		if err := launched[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if name := os.Getenv(roleEnv); name != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(3)
		}()
		if err := roles[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	longtest.TempInMemory()
	goleak.VerifyTestMain(m)
}

// child is the test binary in another role.
type child struct {
	*exec.Cmd
	// firstLine is the first line of its stdout.
	firstLine string
	// output is the rest of its stdout, complete when ended is closed.
	output bytes.Buffer
	ended  chan struct{}
}

// startChild starts a role and waits for its first line on stdout. env has elements KEY=value. The
// child is killed at the end of the test.
func startChild(tb testing.TB, role string, env ...string) *child {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	c := &child{Cmd: exec.Command(self), ended: make(chan struct{})}
	c.Env = append(append(os.Environ(), env...), roleEnv+"="+role)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	r := bufio.NewReader(stdout)
	line, err := r.ReadString('\n')
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = c.Process.Kill()
		<-c.ended
	})
	go func() {
		_, _ = io.Copy(&c.output, r)
		_ = c.Wait()
		close(c.ended)
	}()
	if err != nil {
		tb.Fatalf("role %s printed nothing: %v", role, err)
	}
	c.firstLine = strings.TrimSpace(line)
	return c
}
