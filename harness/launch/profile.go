package launch

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
)

// ErrNotConfigured tells that there is no usable command for a daemon: what
// is wrong is the configuration, not the daemon.
var ErrNotConfigured = errors.New("no usable daemon command")

// Profile says how the daemon of one SDK is started.
//
// In each argument of Command, "{addr}" stands for 127.0.0.1:PORT, "{port}"
// for PORT and "{home}" for Options.Home. A value is put in after the command
// was split, so it can never become a second argument. The daemon also finds
// 127.0.0.1:PORT in SVC_ADDR and Options.Home, where it is set, in SVC_HOME.
type Profile struct {
	SDK     string
	Command []string // program and arguments; no shell is involved
	Dir     string   // working directory; empty means the caller's
	Env     []string // KEY=VALUE, added to the caller's environment

	// Announces tells that the daemon picks its own port when it is given port 0
	// and prints "evalctl: listening on http://HOST:PORT" once it is bound.
	Announces bool
}

// SDKs are the values that Resolve accepts.
var SDKs = []string{"ts", "go", "py"}

// Resolve finds the command of an SDK's daemon. override (a whole command
// line) wins over the variable SVC_SDK_<SDK>_CMD, read through env; go with
// neither runs `self serve`, without a home where SVC_STORE is memory. Command lines are split by the quoting rules of
// a POSIX shell, without variables, globs or any other expansion.
// SVC_SDK_<SDK>_DIR is the working directory of a configured command.
//
// Every error wraps ErrNotConfigured and names the variable; it never shows
// the command line, which may hold a token.
func Resolve(sdk, self string, env func(string) string, override string) (Profile, error) {
	if !slices.Contains(SDKs, sdk) {
		return Profile{}, fmt.Errorf("%w: unknown sdk %q, use one of %s", ErrNotConfigured, sdk, strings.Join(SDKs, ", "))
	}
	prefix := "SVC_SDK_" + strings.ToUpper(sdk)
	line, origin := override, "the daemon command"
	if line == "" {
		line, origin = env(prefix+"_CMD"), prefix+"_CMD"
	}
	if line == "" && sdk == "go" {
		home := "--home={home}"
		if env("SVC_STORE") == "memory" { // which refuses a home, SVC_HOME too
			home = "--home="
		}
		return Profile{SDK: sdk, Command: []string{self, "serve", "--addr", "{addr}", home}, Announces: true}, nil
	}
	if line == "" {
		return Profile{}, fmt.Errorf("%w for sdk %s: set %s, for example: export %s='%s'",
			ErrNotConfigured, sdk, origin, origin, example(sdk))
	}
	command, err := shellquote.Split(line)
	if err != nil {
		return Profile{}, fmt.Errorf("%w for sdk %s: %s: %w", ErrNotConfigured, sdk, origin, err)
	}
	if len(command) == 0 || command[0] == "" {
		return Profile{}, fmt.Errorf("%w for sdk %s: %s names no program", ErrNotConfigured, sdk, origin)
	}
	return Profile{SDK: sdk, Command: command, Dir: env(prefix + "_DIR")}, nil
}

func example(sdk string) string {
	if sdk == "py" {
		return "python3 daemon.py serve --addr {addr}"
	}
	return "npx tsx daemon.ts serve --addr {addr}"
}

// expand gives the command with its placeholders filled in. Anything else in
// braces is the daemon's own business and stays as it is.
func (p Profile) expand(port int, home string) []string {
	values := strings.NewReplacer("{addr}", address(port), "{port}", strconv.Itoa(port), "{home}", home)
	command := make([]string, len(p.Command))
	for i, arg := range p.Command {
		command[i] = values.Replace(arg)
	}
	return command
}

// environment gives what is added to the caller's environment. Address and home
// stand there as well: what the user's variables say of his own daemon is not for
// the one that is started, whose command may lack the placeholders.
func (p Profile) environment(port int, home string) []string {
	env := []string{"SVC_ADDR=" + address(port)}
	if home != "" {
		env = append(env, "SVC_HOME="+home)
	}
	return append(env, p.Env...)
}

// address is where a daemon is told to listen.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// takesPort tells whether the daemon can be told which port to use.
func (p Profile) takesPort() bool {
	return slices.ContainsFunc(p.Command, func(arg string) bool {
		return strings.Contains(arg, "{addr}") || strings.Contains(arg, "{port}")
	})
}
