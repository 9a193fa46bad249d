package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"evalctl/daemon/httpapi"
)

type keysCmd struct {
	File   string        `required:"" placeholder:"FILE" help:"Keys file, YAML or JSON."`
	Create keysCreateCmd `cmd:"" help:"Create a key and print its token."`
	List   keysListCmd   `cmd:"" help:"List the keys."`
}

func (keysCmd) Help() string {
	return `Examples:

  evalctl keys create --file keys.yaml --name ci --tenant acme --role writer
  evalctl keys list --file keys.yaml
  evalctl serve --addr 0.0.0.0:8787 --home ./brains --keys keys.yaml

A keys file can be edited by hand, for example to set a rate limit:

  keys:
    - name: ci                  # appears in the daemon's log
      tenant: acme              # owner of the brains that the key creates
      sha256: 9f86d081884c...   # hash of the token, 64 hex digits
      brains: ["*"]             # brain ids, or "*" for all brains of the tenant
      roles: [writer]           # reader, writer, admin
      scopes: [admin]           # in addition to those of the roles
      rate: {per_second: 5, burst: 20}
`
}

type keysCreateCmd struct {
	Name   string   `required:"" help:"Name of the key, which appears in the daemon's log."`
	Tenant string   `required:"" help:"Tenant of the key, which owns the brains that the key creates."`
	Brain  []string `placeholder:"ID" help:"Brain that the key may use; repeatable. Default: all brains of the tenant."`
	Role   []string `placeholder:"ROLE" help:"Role: reader, writer or admin; repeatable."`
	Scope  []string `placeholder:"SCOPE" help:"Additional permission, such as search; repeatable."`
}

func (keysCreateCmd) Help() string {
	return `Prints the token to stdout. It cannot be shown again, because the file contains only its SHA-256.
A daemon reads the file when it starts.

Roles and their scopes:

  reader  documents:read, search, ask
  writer  the same and documents:write, which includes creating brains
  admin   the same and admin: delete brains, read /metrics, and use brains
          that were created without keys

Examples:

  evalctl keys create --file keys.yaml --name ci --tenant acme --role writer
  evalctl keys create --file keys.yaml --name bot --tenant acme --brain notes --scope search
`
}

// Run adds the key and prints its token.
func (c *keysCreateCmd) Run(p *process, parent *keysCmd) error {
	if len(c.Role)+len(c.Scope) == 0 {
		return usageError{errors.New("permissions are missing: set --role " + strings.Join(httpapi.Roles(), ", ") +
			", or --scope " + strings.Join(httpapi.Scopes(), ", "))}
	}
	if len(c.Brain) == 0 {
		c.Brain = []string{httpapi.AllBrains}
	}
	token := httpapi.NewToken()
	err := httpapi.AddKey(parent.File, httpapi.Key{
		Name: c.Name, Tenant: c.Tenant, SHA256: httpapi.HashToken(token),
		Brains: c.Brain, Roles: c.Role, Scopes: c.Scope,
	}, func() error {
		if _, err := fmt.Fprintln(p.stdout, token); err != nil {
			return fmt.Errorf("print the token: %w: key %q was not added to %s", err, c.Name, parent.File)
		}
		return nil
	})
	if err != nil {
		return usageError{err}
	}
	return nil
}

type keysListCmd struct{}

func (keysListCmd) Help() string {
	return `Prints one line per key, without the hash of its token.

Example:

  evalctl keys list --file keys.yaml
`
}

// Run prints one line per key.
func (c *keysListCmd) Run(p *process, parent *keysCmd) error {
	keys, err := httpapi.ReadKeys(parent.File)
	if err != nil {
		return usageError{err}
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTENANT\tBRAINS\tROLES\tSCOPES\tRATE")
	for _, k := range keys.List() {
		rate := "-"
		if k.Rate != nil {
			rate = fmt.Sprintf("%v/s, burst %d", k.Rate.PerSecond, k.Rate.Burst)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.Name, k.Tenant, commas(k.Brains), commas(k.Roles), commas(k.Scopes), rate)
	}
	return w.Flush()
}

func commas(list []string) string { return cmp.Or(strings.Join(list, ","), "-") }
