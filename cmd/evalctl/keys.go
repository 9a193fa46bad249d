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
	Create keysCreateCmd `cmd:"" help:"Add a key and print its token."`
	List   keysListCmd   `cmd:"" help:"List the keys."`
}

func (keysCmd) Help() string {
	return `A keys file may be edited by hand. A key's rate limit is set there:

  keys:
    - name: ci                  # stands in the log
      tenant: acme              # owns the brains that the key creates
      sha256: 9f86d081884c...   # of the token, 64 digits
      brains: ["*"]             # ids, or * for all of the tenant's
      roles: [writer]           # reader, writer, admin
      scopes: [admin]           # added to the roles'
      rate: {per_second: 5, burst: 20}
`
}

type keysCreateCmd struct {
	Name   string   `required:"" help:"Name of the key, as it stands in the daemon's log."`
	Tenant string   `required:"" help:"Tenant that the key acts for; it owns the brains that the key creates."`
	Brain  []string `placeholder:"ID" help:"Brain that the key may use; may be repeated. All of the tenant's without it."`
	Role   []string `placeholder:"ROLE" help:"reader, writer or admin; may be repeated."`
	Scope  []string `placeholder:"SCOPE" help:"Single permission, added to the roles'; may be repeated."`
}

func (keysCreateCmd) Help() string {
	return `Prints the token to stdout, once: the file keeps its SHA-256 only. A daemon reads the file when it starts.

Roles and what they may do:
  reader  documents:read, search, ask
  writer  and documents:write, which creates brains too
  admin   and admin: delete brains, read /metrics, use brains made without keys

Examples:

  evalctl keys create --file keys.yaml --name ci --tenant acme --role writer
  evalctl keys create --file keys.yaml --name bot --tenant acme --brain notes --scope search
`
}

// Run adds the key and prints its token.
func (c *keysCreateCmd) Run(p *process, parent *keysCmd) error {
	if len(c.Role)+len(c.Scope) == 0 {
		return usageError{errors.New("say what the key may do: --role " + strings.Join(httpapi.Roles(), ", ") +
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
	return `Shows neither tokens, which nobody has, nor their hashes.

Example:

  evalctl keys list --file keys.yaml
`
}

// Run prints a line for each key.
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
