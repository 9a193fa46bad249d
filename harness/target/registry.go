package target

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kballard/go-shellquote"

	"evalctl/daemon/protocol"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/internal/environ"
)

// SDKs are the names that need no definition: go is this program's own daemon, and the environment
// defines ts and py.
var SDKs = []string{"ts", "go", "py"}

// Definition says which daemon a target's name means, started or running, and how to ask it.
type Definition struct {
	// Name is used in file names and results.
	Name string
	// Endpoint is the base URL of a running daemon. If empty, Profile starts one.
	Endpoint string
	Profile  launch.Profile
	// Own is set if Profile starts this program's own daemon.
	Own bool
	// MCP is set for an MCP server, started by Profile or running at Endpoint.
	MCP bool
	// Settings override how this target is asked.
	Settings Settings
}

// Mapped reports whether the target is described by a mapping.
func (d Definition) Mapped() bool { return d.MCP || d.Settings.Mapping != "" }

// Configured reports whether SVC_ variables configure the target, as for daemons of the protocol.
func (d Definition) Configured() bool { return !d.Mapped() }

// Settings are how one target is asked. Empty fields use the common settings.
type Settings struct {
	Mode    string // a retrieval mode, see protocol.Modes
	Dialect result.Dialect
	Mapping string // the name or the file of a mapping
}

// Registry finds targets by name. Its methods are safe for concurrent use.
type Registry struct {
	Self string              // this program's own file
	Env  func(string) string // looks up environment variables
	// Defined maps names to definitions in the notation of Find.
	Defined map[string]string
}

// Find returns the target for NAME or NAME=DEFINITION. A NAME alone is looked up in the variable
// SVC_SDK_<NAME>_CMD, which contains a command, then in Defined, then in SDKs. A DEFINITION is
// split into words by the quoting rules of a POSIX shell, without expansions. It is one of
//
//   - a URL: the daemon running there;
//   - the name of a target: the same daemon;
//   - a command with its arguments: the daemon that it starts, see launch.Profile;
//   - mcp: before a command or a URL: an MCP server with tools of its own.
//
// The settings --mode MODE, --dialect DIALECT and --mapping MAPPING go before a URL, a name or a
// command, or after a URL or a name; all words after a command are its own. Assignments
// VARIABLE=VALUE for the daemon's environment may follow the settings before a name or a command.
//
// Errors never quote a definition, which may contain a token.
func (r Registry) Find(text string) (Definition, error) {
	d, err := r.FindServer(text)
	if err == nil && d.MCP && d.Settings.Mapping == "" && slices.ContainsFunc(d.Profile.Command, isMapping) {
		return Definition{}, fmt.Errorf("target %s: --mapping after the command would be an argument of the server: "+
			"write %[1]s='mcp: --mapping MAPPING COMMAND'", d.Name)
	}
	return d, err
}

// FindServer is Find for a server without a mapping, whose own arguments may be called --mapping.
func (r Registry) FindServer(text string) (Definition, error) {
	name, definition, defined := strings.Cut(text, "=")
	if err := checkName(name); err != nil {
		return Definition{}, err
	}
	if defined {
		return r.define(name, definition, nil)
	}
	return r.named(name, nil)
}

// Running returns the target name for the daemon running at url.
func (r Registry) Running(name, url string) (Definition, error) {
	return Definition{Name: name, Endpoint: url}, checkName(name)
}

// Command returns the target name for the daemon started by a command line.
func (r Registry) Command(name, line string) (Definition, error) {
	if err := checkName(name); err != nil {
		return Definition{}, err
	}
	words, err := shellquote.Split(line)
	if err != nil {
		return Definition{}, fmt.Errorf("target %s: the daemon command: %w", name, err)
	}
	return r.started(name, words, "the daemon command")
}

// nameForm matches valid names, which are also used in the names of files and variables.
var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)
})

// IsName reports whether a name is valid for a target or another subject of results: 1 to 64
// lower-case letters and digits, with hyphens between them.
func IsName(name string) bool { return nameForm().MatchString(name) }

func checkName(name string) error {
	if IsName(name) {
		return nil
	}
	meant := ""
	if lower := strings.ToLower(name); IsName(lower) {
		meant = fmt.Sprintf("did you mean %s? ", lower)
	}
	return fmt.Errorf("target %q: %sa name has 1 to 64 small letters, digits and hyphens between them; "+
		"write NAME, NAME=URL, NAME='COMMAND' or NAME='mcp:COMMAND'", name, meant)
}

// Variable returns the environment variable that configures a target. what is CMD for the command
// or DIR for its working directory.
func Variable(name, what string) string {
	return "SVC_SDK_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_" + what
}

// named returns the target for a name alone. outer are the names whose definitions refer to it.
func (r Registry) named(name string, outer []string) (Definition, error) {
	if line := r.Env(Variable(name, "CMD")); line != "" {
		words, err := shellquote.Split(line)
		if err != nil {
			return Definition{}, fmt.Errorf("target %s: %s: %w", name, Variable(name, "CMD"), err)
		}
		return r.started(name, words, Variable(name, "CMD"))
	}
	if definition, ok := r.Defined[name]; ok {
		return r.define(name, definition, outer)
	}
	if name == "go" {
		return r.own(), nil
	}
	return Definition{}, r.unknown(name)
}

// own returns this program's own daemon. It has an empty home if SVC_STORE is memory.
func (r Registry) own() Definition {
	return Definition{Name: "go", Own: true, Profile: launch.Profile{
		Command: r.serve(r.Env("SVC_STORE")), Announces: true,
	}}
}

// serve returns the command for this program's own daemon with a store.
func (r Registry) serve(store string) []string {
	home := "--home={home}"
	if store == "memory" { // a memory store rejects a home, also in SVC_HOME
		home = "--home="
	}
	return []string{r.Self, "serve", "--addr", "{addr}", home}
}

func (r Registry) unknown(name string) error {
	variable := Variable(name, "CMD")
	if slices.Contains(SDKs, name) {
		return fmt.Errorf("no usable daemon command for target %s: set %s, for example: export %[2]s='%[3]s'",
			name, variable, example(name))
	}
	usable := slices.DeleteFunc(r.Names(), func(n string) bool {
		_, defined := r.Defined[n]
		return n != "go" && !defined && r.Env(Variable(n, "CMD")) == ""
	})
	return fmt.Errorf("no usable daemon command for target %s: write %[1]s='COMMAND' or %[1]s=URL, set %[2]s, or take one that is set up: %[3]s",
		name, variable, strings.Join(usable, ", "))
}

func example(sdk string) string {
	if sdk == "py" {
		return "python3 daemon.py serve --addr {addr}"
	}
	return "npx tsx daemon.ts serve --addr {addr}"
}

// Names returns the known names: SDKs and the names in Defined.
func (r Registry) Names() []string {
	names := slices.Clone(SDKs)
	for _, name := range slices.Sorted(maps.Keys(r.Defined)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// known reports whether a definition can refer to a name.
func (r Registry) known(name string) bool {
	return nameForm().MatchString(name) && (slices.Contains(r.Names(), name) || r.Env(Variable(name, "CMD")) != "")
}

// define returns the target of a definition. outer are the names that refer to it.
func (r Registry) define(name, definition string, outer []string) (d Definition, err error) {
	rest, isMCP := strings.CutPrefix(definition, "mcp:")
	words, err := shellquote.Split(rest)
	if err != nil {
		return d, fmt.Errorf("target %s: its definition: %w", name, err)
	}
	if isMCP {
		return r.server(name, words)
	}
	settings, words := leading(words)
	assigned, words, err := assignments(words)
	if err != nil {
		return d, fmt.Errorf("target %s: %w", name, err)
	}
	switch {
	case len(words) > 0 && strings.HasPrefix(words[0], "mcp:"):
		return d, fmt.Errorf("target %s: assignments and settings of an MCP server follow mcp:, "+
			"such as %[1]s='mcp: A=1 COMMAND'", name)
	case len(words) > 0 && isURL(words[0]):
		settings = append(settings, words[1:]...)
		if len(assigned) > 0 {
			return d, fmt.Errorf("target %s: the daemon at a URL is running already, with an environment of its own; "+
				"leave the assignments out", name)
		}
		d = Definition{Name: name, Endpoint: words[0]}
	case len(words) > 0 && r.known(words[0]) && (len(words) == 1 || strings.HasPrefix(words[1], "--")):
		if d, err = r.refer(words[0], append(outer, name)); err != nil {
			return d, err
		}
		settings = append(settings, words[1:]...)
		if d.Endpoint != "" && len(assigned) > 0 {
			return d, fmt.Errorf("target %s: the daemon of %s is running already, with an environment of its own; "+
				"leave the assignments out", name, words[0])
		}
		d.Profile.Env = append(d.Profile.Env, assigned...)
		for _, a := range assigned {
			if store, ok := strings.CutPrefix(a, "SVC_STORE="); ok && d.Own {
				d.Profile.Command = r.serve(store)
			}
		}
	default:
		if d, err = r.started(name, words, "its definition"); err != nil {
			return d, err
		}
		d.Profile.Env = assigned
	}
	if err := d.Settings.parse(settings); err != nil {
		return d, fmt.Errorf("target %s: %w", name, err)
	}
	return d, nil
}

// server returns a target that is an MCP server.
func (r Registry) server(name string, words []string) (d Definition, err error) {
	settings, words := leading(words)
	assigned, words, err := assignments(words)
	switch {
	case err != nil:
		return d, fmt.Errorf("target %s: %w", name, err)
	case len(words) > 0 && isURL(words[0]) && len(assigned) > 0:
		return d, fmt.Errorf("target %s: the MCP server at a URL is running already, with an environment of its own; "+
			"leave the assignments out", name)
	case len(words) > 0 && isURL(words[0]):
		d = Definition{Name: name, Endpoint: words[0]}
		settings = append(settings, words[1:]...)
	default:
		if d, err = r.started(name, words, "its definition"); err != nil {
			return d, err
		}
		d.Profile.Env = assigned
	}
	d.MCP = true
	if err := d.Settings.parse(settings); err != nil {
		return d, fmt.Errorf("target %s: %w", name, err)
	}
	return d, nil
}

func isMapping(word string) bool { return word == "--mapping" || strings.HasPrefix(word, "--mapping=") }

// leading splits words into leading settings with their values, and the rest.
func leading(words []string) (settings, rest []string) {
	n := 0
	for n < len(words) && strings.HasPrefix(words[n], "--") {
		if n++; !strings.Contains(words[n-1], "=") {
			n++
		}
	}
	n = min(n, len(words))
	return slices.Clone(words[:n]), words[n:]
}

// refer returns the target called other under the last name of outer.
func (r Registry) refer(other string, outer []string) (Definition, error) {
	name := outer[len(outer)-1]
	if other == name && other == "go" { // such as go='go --mode bm25'
		return r.own(), nil
	}
	if slices.Contains(outer, other) {
		return Definition{}, fmt.Errorf("target %s is defined by itself; give one of %s another definition",
			other, strings.Join(outer, ", "))
	}
	d, err := r.named(other, outer)
	d.Name = name
	return d, err
}

// started returns a target whose daemon a command starts.
func (r Registry) started(name string, words []string, origin string) (Definition, error) {
	if len(words) == 0 || words[0] == "" {
		return Definition{}, fmt.Errorf("no usable daemon command for target %s: %s names no program", name, origin)
	}
	if host, port, err := net.SplitHostPort(words[0]); err == nil && len(words) == 1 && host != "" && isNumber(port) {
		return Definition{}, fmt.Errorf("target %s: %s is neither a command nor a URL: did you mean http://%[2]s?", name, words[0])
	}
	return Definition{Name: name, Profile: launch.Profile{
		Command: words, Dir: r.Env(Variable(name, "DIR")),
	}}, nil
}

// isNumber reports whether a text has digits only.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// assignment matches a word that sets a variable.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)
})

// assignments splits words into leading assignments and the rest.
func assignments(words []string) (assigned, rest []string, err error) {
	for i, w := range words {
		m := assignment().FindStringSubmatch(w)
		switch {
		case m == nil:
			return assigned, words[i:], nil
		case environ.LooksSecret(m[1]):
			return nil, nil, fmt.Errorf("%s looks like a secret, which other users can read on a command line: "+
				"set it in the environment", m[1])
		}
		assigned = append(assigned, w)
	}
	return assigned, nil, nil
}

func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// parse sets the settings given in words.
func (s *Settings) parse(words []string) error {
	for len(words) > 0 {
		flag, value, joined := strings.Cut(words[0], "=")
		words = words[1:]
		if !joined {
			if len(words) == 0 {
				return fmt.Errorf("the setting %s has no value", flag)
			}
			value, words = words[0], words[1:]
		}
		switch flag {
		case "--mode":
			if !slices.Contains(protocol.Modes, value) {
				return fmt.Errorf("--mode %s: must be one of %s", value, strings.Join(protocol.Modes, ", "))
			}
			s.Mode = value
		case "--dialect":
			s.Dialect = result.Dialect(value)
			if !slices.Contains([]result.Dialect{result.Auto, result.Snake, result.Camel}, s.Dialect) {
				return fmt.Errorf("--dialect %s: must be auto, snake or camel", value)
			}
		case "--mapping":
			if s.Mapping = value; value == "" {
				return errors.New("--mapping is empty: give the name or the file of a mapping")
			}
		default:
			return fmt.Errorf("unknown setting %s; the settings of a target are --mode, --dialect and --mapping", flag)
		}
	}
	return nil
}
