//go:build unix

package launch

import (
	"errors"
	"evalctl/internal/longtest"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// pidsEnv is the variable with the directory in which every role process creates a file named after
// its process id.
const pidsEnv = "LAUNCH_TEST_PIDS"

// The role chatter writes 5 MiB to each of stdout and stderr.
const (
	chatterLine  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"
	chatterLines = 5 << 20 / len(chatterLine)
)

// TestMain runs the tests or, with the arguments "role:NAME ARGS...", one of the processes that the
// tests start.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "role:") {
		longtest.Parallel(6) // most tests wait for processes
		killWait, watchdogTimeout = patience, patience
		goleak.VerifyTestMain(m)
		return
	}
	if dir := os.Getenv(pidsEnv); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
			panic(err)
		}
	}
	role, args := strings.TrimPrefix(os.Args[1], "role:"), os.Args[2:]
	if err := roles[role](args); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
}

var roles = map[string]func([]string) error{
	"watchdog":    func([]string) error { return Watchdog(os.Stdin, os.Stdout) },
	"notwatchdog": func([]string) error { return errors.New("no such command") },
	"launcher":    launcherRole,
	"healthy":     func(args []string) error { return serve(args[0], 200, `{"ok":true,"version":"v1\u001b[31m"}`) },
	"plain":       func(args []string) error { return serve(args[0], 200, "fine") },
	"unready":     func(args []string) error { return serve(args[0], 503, "warming\x1b[2J up") },
	"notok":       func(args []string) error { return serve(args[0], 200, `{"ok":false}`) },
	"stubborn": func(args []string) error {
		signal.Ignore(syscall.SIGTERM)
		return serve(args[0], 200, `{"ok":true}`)
	},
	"silent":   silentRole,
	"redirect": redirectRole,
	"announce": announceRole,
	"liar":     liarRole,
	"chatter":  chatterRole,
	"crash":    crashRole,
	"flood":    floodRole,
	"thief":    thiefRole,
	"stranger": strangerRole,
	"detached": detachedRole,
}

func serve(addr string, status int, body string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return serveOn(l, status, body)
}

func serveOn(l net.Listener, status int, body string) error {
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/exit" {
			fmt.Fprintln(os.Stderr, "asked to exit")
			os.Exit(7)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
}

func redirectRole(args []string) error {
	return http.ListenAndServe(args[0], http.RedirectHandler("http://"+args[1]+"/healthz", http.StatusFound))
}

func silentRole(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	for {
		if _, err := l.Accept(); err != nil {
			return err
		}
	}
}

func announceRole(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("some other line\nevalctl: listening on nothing")
	fmt.Println("evalctl: listening on http://" + l.Addr().String())
	return serveOn(l, 200, `{"ok":true}`)
}

// liarRole announces the address of another daemon.
func liarRole(args []string) error {
	fmt.Println("evalctl: listening on " + args[1])
	return serve(args[0], 200, `{"ok":true}`)
}

func chatterRole(args []string) error {
	for range chatterLines {
		fmt.Fprint(os.Stdout, chatterLine)
		fmt.Fprint(os.Stderr, chatterLine)
	}
	return serve(args[0], 200, `{"ok":true}`)
}

func crashRole([]string) error {
	for n := range 30 {
		fmt.Printf("line %d \x1b]0;title\a\n", n)
	}
	os.Exit(3)
	return nil
}

// thiefRole is a daemon that loses its port: on its first run it writes its address to a file, lets
// another process serve it, and exits or stays without a port. Later runs are healthy. The
// arguments are the address, the file, and "ends" or "stays", or "passes" if no other process has
// the port any more.
func thiefRole(args []string) error {
	addr, memory := args[0], args[1]
	if _, err := os.Stat(memory); err == nil {
		return serve(addr, 200, `{"ok":true,"version":"ours"}`)
	}
	if err := errors.Join(os.WriteFile(memory+".new", []byte(addr), 0o600), os.Rename(memory+".new", memory)); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); args[2] != "passes" && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			break
		}
	}
	if args[2] == "stays" {
		time.Sleep(patience)
	}
	return errors.New("address already in use")
}

// strangerRole serves the address in a file, once there is one.
func strangerRole(args []string) error {
	for {
		if addr, err := os.ReadFile(args[0]); err == nil {
			return serve(string(addr), 200, "fine")
		}
		time.Sleep(time.Millisecond)
	}
}

// detachedRole has a process outside of the daemon's groups and environment serve its address.
func detachedRole(args []string) error {
	server := exec.Command(os.Args[0], "role:healthy", args[0])
	server.Env = []string{pidsEnv + "=" + os.Getenv(pidsEnv)}
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return server.Run()
}
