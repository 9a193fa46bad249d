package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/conformance"
	"evalctl/harness/target"
)

// ConformanceSpec says which daemon to check, and how.
type ConformanceSpec struct {
	Targets Targets
	// Target and Command define a daemon, see Targets.FindOne. Without a target, Options has an
	// Endpoint or a server of tools.
	Target, Command string
	Port            int
	// Options has the tokens and the selection. Open sets the options for the process.
	Options conformance.Options
	// NewToken returns a new token, and AddKey adds a token's key to a keys file.
	NewToken func() string
	AddKey   func(file string, k ConformanceKey) error
}

// ConformanceKey is a key required by a check. It permits all brains of its tenant.
type ConformanceKey struct{ Name, Tenant, Role, Token string }

// Conformance is a daemon to check for conformance. The caller must call Close.
type Conformance struct {
	Options conformance.Options
	// Keys is the folder with the keys file made for the daemon, empty without one.
	Keys string
	// Hint is from Targets.Hint.
	Hint string

	found   target.Definition // the zero value is a daemon that runs already
	config  harness.SessionConfig
	session *harness.Session
}

// NewConformance checks how to start or connect to the daemon.
func NewConformance(s ConformanceSpec) (*Conformance, error) {
	c := &Conformance{Options: s.Options}
	c.Options.Secrets = s.Targets.Secrets
	if s.Target == "" {
		c.Options.MCPEnv = s.Targets.values(s.Targets.PassedTo(c.found, nil))
		return c, CheckPassed(s.Targets.Environ, s.Targets.Passed, "--daemon-env")
	}
	var err error
	if c.found, err = s.Targets.FindOne(s.Target, s.Command, ""); err != nil {
		return c, err
	}
	if c.found.Mapped() {
		return c, fmt.Errorf("target %s does not speak the protocol whose conformance is checked; "+
			"evalctl target check says what it can do", c.found.Name)
	}
	if c.config, err = s.Targets.Session(c.found, c.Options.Token, s.Port); err != nil {
		return c, err
	}
	c.Options.MCPEnv = s.Targets.values(s.Targets.PassedTo(c.found, nil))
	c.Hint = s.Targets.Hint(c.found, s.Targets.Env("SVC_LLM_PROVIDER"), c.config.Profile.Passed)
	c.Options.Endpoint, c.Options.Token = c.found.Endpoint, c.config.Token
	if c.found.Endpoint != "" {
		return c, nil
	}
	err = c.makeKeys(s)
	c.config.Token, c.config.Concurrency = c.Options.Token, c.Options.Parallel
	return c, err
}

// keysPlaceholder stands for a keys file in a daemon's command.
const keysPlaceholder = "{keys}"

// makeKeys makes a keys file for a daemon that takes one: this program's own, or one with {keys} in
// its command. The file has the given tokens, and new ones for those missing, so that
// authentication can be checked. Only the file's path becomes an argument.
func (c *Conformance) makeKeys(s ConformanceSpec) (err error) {
	command, o := slices.Clone(c.config.Profile.Command), &c.Options
	// A separate server at a URL receives the same token, but does not know a new one.
	if c.found.Own && (o.MCP == "" || strings.HasPrefix(o.MCP, "stdio:")) {
		command = append(command, "--keys="+keysPlaceholder)
	}
	if !slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, keysPlaceholder) }) {
		return nil
	}
	if c.Keys, err = os.MkdirTemp("", "evalctl-keys-*"); err != nil {
		return fmt.Errorf("create a folder for the keys file: %w; set TMPDIR to a folder that can be written", err)
	}
	file := filepath.Join(c.Keys, "keys.yaml")
	for _, k := range []struct {
		name, tenant, role, flag string
		token                    *string
	}{
		{"full", "conformance", "admin", "--token", &o.Token},
		{"read-only", "conformance", "reader", "--token-readonly", &o.ReadOnlyToken},
		{"other-tenant", "conformance-other", "admin", "--token-other-tenant", &o.OtherTenantToken},
	} {
		if *k.token == "" {
			*k.token = s.NewToken()
		}
		if err := s.AddKey(file, ConformanceKey{Name: k.name, Tenant: k.tenant, Role: k.role, Token: *k.token}); err != nil {
			return fmt.Errorf("%s: %w", k.flag, err)
		}
	}
	for i, arg := range command {
		command[i] = strings.ReplaceAll(arg, keysPlaceholder, file)
	}
	c.config.Profile.Command = command
	return nil
}

// Open starts the daemon unless it is already running. restarting is called when it is restarted.
func (c *Conformance) Open(ctx context.Context, restarting func()) (err error) {
	if c.found.Name == "" || c.found.Endpoint != "" {
		return nil
	}
	if c.session, err = harness.Open(ctx, c.config); err != nil {
		return err
	}
	o := &c.Options
	o.Endpoint, o.Process = c.session.Service().URL(), c.session.Process()
	if o.MCP == "" && c.found.Own {
		o.MCP = o.Endpoint + "/mcp"
	}
	o.Log = func() string { return c.session.Process().LastLines() }
	o.Restart = func(ctx context.Context) (string, conformance.Process, error) {
		restarting()
		if err := c.session.Restart(ctx); err != nil {
			return "", nil, err
		}
		return c.session.Service().URL(), c.session.Process(), nil
	}
	return nil
}

// Escaped returns Session.Escaped, and whether a daemon was started.
func (c *Conformance) Escaped() (names []string, started bool) {
	if c.session == nil {
		return nil, false
	}
	return c.session.Escaped(), true
}

// Close stops a daemon started by Open, and removes the keys file.
func (c *Conformance) Close() error {
	var err error
	if c.session != nil {
		err = c.session.Close()
	}
	if c.Keys != "" {
		err = errors.Join(err, os.RemoveAll(c.Keys))
	}
	return err
}
