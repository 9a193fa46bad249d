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

// errNotConfigured reports that no usable command is configured for a daemon.
var errNotConfigured = errors.New("no usable daemon command")

// Profile describes how to start the daemon of one SDK.
//
// In each argument of Command, "{addr}" is replaced with 127.0.0.1:PORT, "{port}" with PORT and
// "{home}" with Options.Home. A value never becomes more than one argument. The environment of the
// daemon has 127.0.0.1:PORT in SVC_ADDR and Options.Home, if set, in SVC_HOME.
type Profile struct {
	SDK     string
	Command []string // program and arguments; no shell is involved
	Dir     string   // working directory; empty means the caller's
	Env     []string // KEY=VALUE, added to the caller's environment
	// Withheld are the names of the variables of the caller's environment that the daemon does not
	// get, unless they are in Env.
	Withheld []string

	// Announces reports that the daemon chooses its own port if it is given port 0, and prints
	// "evalctl: listening on http://HOST:PORT" when it listens.
	Announces bool
}

// SDKs are the values that Resolve accepts.
var SDKs = []string{"ts", "go", "py"}

// Resolve returns the profile of an SDK's daemon. override, a whole command line, takes precedence
// over the variable SVC_SDK_<SDK>_CMD, which is read with env. Without either, go runs `self
// serve`, with an empty home if SVC_STORE is memory. Command lines are split by the quoting rules
// of a POSIX shell, without expansion of variables or globs. SVC_SDK_<SDK>_DIR is the working
// directory of a configured command.
//
// Errors name the variable, but do not contain the command line, which may have a token.
func Resolve(sdk, self string, env func(string) string, override string) (Profile, error) {
	if !slices.Contains(SDKs, sdk) {
		return Profile{}, fmt.Errorf("%w: unknown sdk %q, use one of %s", errNotConfigured, sdk,
			strings.Join(SDKs, ", "))
	}
	prefix := "SVC_SDK_" + strings.ToUpper(sdk)
	line, origin := override, "the daemon command"
	if line == "" {
		line, origin = env(prefix+"_CMD"), prefix+"_CMD"
	}
	if line == "" && sdk == "go" {
		home := "--home={home}"
		if env("SVC_STORE") == "memory" { // a memory store rejects a home, also in SVC_HOME
			home = "--home="
		}
		return Profile{SDK: sdk, Command: []string{self, "serve", "--addr", "{addr}", home}, Announces: true}, nil
	}
	if line == "" {
		return Profile{}, fmt.Errorf("%w for sdk %s: set %s, for example: export %s='%s'",
			errNotConfigured, sdk, origin, origin, example(sdk))
	}
	command, err := shellquote.Split(line)
	if err != nil {
		return Profile{}, fmt.Errorf("%w for sdk %s: %s: %w", errNotConfigured, sdk, origin, err)
	}
	if len(command) == 0 || command[0] == "" {
		return Profile{}, fmt.Errorf("%w for sdk %s: %s names no program", errNotConfigured, sdk, origin)
	}
	return Profile{SDK: sdk, Command: command, Dir: env(prefix + "_DIR")}, nil
}

func example(sdk string) string {
	if sdk == "py" {
		return "python3 daemon.py serve --addr {addr}"
	}
	return "npx tsx daemon.ts serve --addr {addr}"
}

// expand returns the command with its placeholders replaced. Other text in braces is not changed.
func (p Profile) expand(port int, home string) []string {
	values := strings.NewReplacer("{addr}", address(port), "{port}", strconv.Itoa(port), "{home}", home)
	command := make([]string, len(p.Command))
	for i, arg := range p.Command {
		command[i] = values.Replace(arg)
	}
	return command
}

// environment returns the variables that are added to the caller's environment. They include
// address and home, which override variables that are meant for another daemon, and which a command
// without placeholders needs.
func (p Profile) environment(port int, home string) []string {
	env := []string{"SVC_ADDR=" + address(port)}
	if home != "" {
		env = append(env, "SVC_HOME="+home)
	}
	return append(env, p.Env...)
}

// address returns the address that a daemon is given to listen on.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// takesPort reports whether the command has a placeholder for the port.
func (p Profile) takesPort() bool {
	return slices.ContainsFunc(p.Command, func(arg string) bool {
		return strings.Contains(arg, "{addr}") || strings.Contains(arg, "{port}")
	})
}
