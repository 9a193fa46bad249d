package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/daemon/httpapi"
	"evalctl/internal/terminal"
)

type keysCmd struct {
	File   string        `required:"" placeholder:"FILE" help:"Keys file, YAML or JSON."`
	Create keysCreateCmd `cmd:"" help:"Create a key and print its token."`
	List   keysListCmd   `cmd:"" help:"List the keys."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key."`
}

type keysCreateCmd struct {
	Name    string   `required:"" placeholder:"NAME" help:"Name of the key, which appears in the daemon's log."`
	Tenant  string   `required:"" help:"Tenant of the key, which owns the brains that the key creates."`
	Brain   []string `name:"allow-brain" aliases:"brain" placeholder:"ID" help:"Brain that the key may use; repeatable. Default: all brains of the tenant."`
	Role    []string `placeholder:"ROLE" help:"Role: reader, writer or admin; repeatable."`
	Scope   []string `placeholder:"SCOPE" help:"Additional permission, such as search; repeatable."`
	Expires string   `placeholder:"WHEN" help:"End of the key: a date (00:00 UTC), a time such as 2027-01-31T18:00:00Z, or from now on, such as 12h or 30d. Default: never."`
}

// Run adds the key and prints its token.
func (c *keysCreateCmd) Run(p *process, parent *keysCmd) error {
	if len(c.Role)+len(c.Scope) == 0 {
		return errors.New("permissions are missing: set --role " + strings.Join(httpapi.Roles(), ", ") +
			", or --scope " + strings.Join(httpapi.Scopes(), ", "))
	}
	return httpapi.IssueKey(parent.File, httpapi.Key{
		Name: c.Name, Tenant: c.Tenant, Brains: c.Brain, Roles: c.Role, Scopes: c.Scope,
	}, c.Expires, time.Now(), func(token string) error {
		_, err := fmt.Fprintln(p.stdout, token)
		return err
	})
}

type keysListCmd struct{}

// Run prints one line per key.
func (c *keysListCmd) Run(p *process, parent *keysCmd) error {
	keys, err := httpapi.ReadKeys(parent.File)
	if err != nil {
		return err
	}
	used, err := httpapi.LastUses(parent.File)
	if err != nil { // the keys themselves are known
		fmt.Fprintf(p.stderr, "evalctl: %s\n", terminal.Lines(err.Error()))
	}
	return keys.Print(p.stdout, used, time.Now())
}

type keysRevokeCmd struct {
	Key string `arg:"" placeholder:"NAME|ID" help:"Name of the key, or at least 6 digits of the ID that evalctl keys list shows."`
}

// Run revokes the key.
func (c *keysRevokeCmd) Run(p *process, parent *keysCmd) error {
	k, before, err := httpapi.RevokeKey(parent.File, c.Key, time.Now())
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
