package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/daemon/httpapi"
	"evalctl/internal/terminal"
)

// keysCmd has the flags of evalctl serve keys.
type keysCmd struct {
	Action string `arg:"" enum:"create,list,revoke" help:"create: create a key and print its token. list: list the keys. revoke: revoke a key."`
	Key    string `arg:"" optional:"" placeholder:"NAME|ID" help:"The key to revoke: its name, or at least 6 digits of the ID that list shows."`
	File   string `required:"" placeholder:"FILE" help:"Keys file, YAML or JSON."`

	Name    string   `placeholder:"NAME" group:"create" help:"Name of the key, which appears in the daemon's log."`
	Tenant  string   `group:"create" help:"Tenant of the key, which owns the brains that the key creates."`
	Brain   []string `name:"allow-brain" aliases:"brain" placeholder:"ID" group:"create" help:"Brain that the key may use; repeatable. Default: all brains of the tenant."`
	Role    []string `placeholder:"ROLE" group:"create" help:"Role: reader, writer or admin; repeatable."`
	Scope   []string `placeholder:"SCOPE" group:"create" help:"Additional permission, such as search; repeatable."`
	Expires string   `placeholder:"WHEN" group:"create" help:"End of the key: a date (00:00 UTC), a time such as 2027-01-31T18:00:00Z, or from now on, such as 12h or 30d. Default: never."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *keysCmd) Validate() error {
	switch given := c.Name != "" || c.Tenant != "" || len(c.Brain)+len(c.Role)+len(c.Scope) > 0 || c.Expires != ""; {
	case c.Action != "create" && given:
		return fmt.Errorf("serve keys %s takes no flag but --file", c.Action)
	case c.Action == "create" && (c.Name == "" || c.Tenant == ""):
		return errors.New("missing flags: --name=NAME and --tenant=TENANT are the new key's")
	case c.Action == "create" && len(c.Role)+len(c.Scope) == 0:
		return errors.New("permissions are missing: set --role " + strings.Join(httpapi.Roles(), ", ") +
			", or --scope " + strings.Join(httpapi.Scopes(), ", "))
	case c.Action == "revoke" && c.Key == "":
		return errors.New("expected a key to revoke: give its name, or the ID that evalctl serve keys list shows")
	case c.Action != "revoke" && c.Key != "":
		return fmt.Errorf("unexpected argument %s: only revoke takes one", c.Key)
	}
	return nil
}

// Run does what the action says.
func (c *keysCmd) Run(p *process) error {
	switch c.Action {
	case "create":
		return c.create(p)
	case "list":
		return c.list(p)
	}
	return c.revoke(p)
}

// create adds a key and prints its token.
func (c *keysCmd) create(p *process) error {
	return httpapi.IssueKey(c.File, httpapi.Key{
		Name: c.Name, Tenant: c.Tenant, Brains: c.Brain, Roles: c.Role, Scopes: c.Scope,
	}, c.Expires, time.Now(), func(token string) error {
		_, err := fmt.Fprintln(p.stdout, token)
		return err
	})
}

// list prints one line per key.
func (c *keysCmd) list(p *process) error {
	keys, err := httpapi.ReadKeys(c.File)
	if err != nil {
		return err
	}
	used, err := httpapi.LastUses(c.File)
	if err != nil { // the keys themselves are known
		fmt.Fprintf(p.stderr, "evalctl: %s\n", terminal.Lines(err.Error()))
	}
	return keys.Print(p.stdout, used, time.Now())
}

// revoke revokes a key.
func (c *keysCmd) revoke(p *process) error {
	k, before, err := httpapi.RevokeKey(c.File, c.Key, time.Now())
	if err != nil {
		return err
	}
	if before {
		fmt.Fprintf(p.stderr, "evalctl: key %s was revoked before, at %v\n", k.Name, k.Revoked)
		return nil
	}
	fmt.Fprintf(p.stderr, "evalctl: key %s (%s) is revoked\n", k.Name, k.ID())
	return nil
}
