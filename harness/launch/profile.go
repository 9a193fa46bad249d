package launch

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
)

// errNotConfigured reports that no usable command is configured for a daemon.
var errNotConfigured = errors.New("no usable daemon command")

// Profile describes how to start the daemon of one target.
//
// In each argument of Command and each variable of Env, "{addr}" is replaced with 127.0.0.1:PORT,
// "{port}" with PORT and "{home}" with Options.Home. A value never becomes more than one argument.
// The environment of the daemon has 127.0.0.1:PORT in SVC_ADDR and Options.Home, if set, in SVC_HOME.
type Profile struct {
	Command []string // program and arguments; no shell is involved
	Dir     string   // working directory; empty means the caller's
	Env     []string // KEY=VALUE, added to what the daemon gets of the caller's environment
	// Passed are the names of the variables of the caller's environment that the daemon gets besides
	// those that every program gets (see package environ).
	Passed []string

	// Announces reports that the daemon chooses its own port if it is given port 0, and prints
	// "evalctl: listening on http://HOST:PORT" when it listens.
	Announces bool
}

// expand returns the command with its placeholders replaced. Other text in braces is not changed.
func (p Profile) expand(port int, home string) []string { return filled(p.Command, port, home) }

// filled returns texts with their placeholders replaced.
func filled(texts []string, port int, home string) []string {
	values := strings.NewReplacer("{addr}", address(port), "{port}", strconv.Itoa(port), "{home}", home)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = values.Replace(text)
	}
	return out
}

// InHome returns a profile for a process that is given no port: {home} is replaced, also in Env, and
// SVC_HOME is in its environment.
func (p Profile) InHome(home string) Profile {
	values := strings.NewReplacer("{home}", home)
	command := make([]string, len(p.Command))
	for i, arg := range p.Command {
		command[i] = values.Replace(arg)
	}
	env := []string{"SVC_HOME=" + home}
	for _, variable := range p.Env {
		env = append(env, values.Replace(variable))
	}
	p.Command, p.Env = command, env
	return p
}

// environment returns the variables that are set for the daemon. They include
// address and home, which override variables that are meant for another daemon, and which a command
// without placeholders needs.
func (p Profile) environment(port int, home string) []string {
	env := []string{"SVC_ADDR=" + address(port)}
	if home != "" {
		env = append(env, "SVC_HOME="+home)
	}
	return append(env, filled(p.Env, port, home)...)
}

// address returns the address that a daemon is given to listen on.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// takesPort reports whether the command or a variable has a placeholder for the port.
func (p Profile) takesPort() bool {
	return slices.ContainsFunc(slices.Concat(p.Command, p.Env), func(text string) bool {
		return strings.Contains(text, "{addr}") || strings.Contains(text, "{port}")
	})
}
