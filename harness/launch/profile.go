package launch

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
)

// errNotConfigured means that no usable command is configured for a daemon.
var errNotConfigured = errors.New("no usable daemon command")

// Profile says how to start the daemon of a target.
//
// In each argument of Command and each variable of Env, "{addr}" is replaced with 127.0.0.1:PORT,
// "{port}" with PORT and "{home}" with Options.Home. A value never becomes more than one argument.
// The daemon's environment has 127.0.0.1:PORT in SVC_ADDR and Options.Home, if set, in SVC_HOME.
type Profile struct {
	Command []string // program and arguments; no shell is involved
	Dir     string   // working directory; empty means the caller's
	Env     []string // KEY=VALUE, added to what the daemon gets of the caller's environment
	// Passed names the variables of the caller's environment that the daemon receives besides those
	// that every program receives (see package environ).
	Passed []string

	// Announces is set if the daemon, given port 0, chooses its own port and prints "evalctl:
	// listening on http://HOST:PORT" when it listens.
	Announces bool
}

// expand returns the command with placeholders replaced. Other text in braces is unchanged.
func (p Profile) expand(port int, home string) []string { return filled(p.Command, port, home) }

// filled returns texts with placeholders replaced.
func filled(texts []string, port int, home string) []string {
	values := strings.NewReplacer("{addr}", address(port), "{port}", strconv.Itoa(port), "{home}", home)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = values.Replace(text)
	}
	return out
}

// InHome returns a profile for a process without a port: {home} is replaced, also in Env, and
// SVC_HOME is set.
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

// environment returns the variables set for the daemon. They include address and home, for commands
// without placeholders and to override variables meant for another daemon.
func (p Profile) environment(port int, home string) []string {
	env := []string{"SVC_ADDR=" + address(port)}
	if home != "" {
		env = append(env, "SVC_HOME="+home)
	}
	return append(env, filled(p.Env, port, home)...)
}

// address returns the daemon's listening address.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// takesPort reports whether the command or a variable has a placeholder for the port.
func (p Profile) takesPort() bool {
	return slices.ContainsFunc(slices.Concat(p.Command, p.Env), func(text string) bool {
		return strings.Contains(text, "{addr}") || strings.Contains(text, "{port}")
	})
}
