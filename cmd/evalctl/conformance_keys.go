package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/daemon/httpapi"
	"evalctl/harness/launch"
)

// keysPlaceholder is what a daemon's command has in the place of a keys file.
const keysPlaceholder = "{keys}"

// makeKeys makes a keys file for a daemon that takes one: this program's own, or one whose command
// has {keys}. The file has the given tokens, and new ones for those that are missing, so that the
// checks of authentication can run. The caller removes dir, which is empty if no file was made.
//
// Only the hashes of the tokens are written, and only the path of the file becomes an argument.
func (c *conformanceCmd) makeKeys(profile *launch.Profile) (dir string, err error) {
	// Another server at a URL would get the same token, and does not know a new one.
	if c.found.Own && (c.MCP == "" || strings.HasPrefix(c.MCP, "stdio:")) {
		profile.Command = append(slices.Clip(profile.Command), "--keys="+keysPlaceholder)
	}
	takesKeys := func(arg string) bool { return strings.Contains(arg, keysPlaceholder) }
	if !slices.ContainsFunc(profile.Command, takesKeys) {
		return "", nil
	}
	if dir, err = os.MkdirTemp("", "evalctl-keys-*"); err != nil {
		return "", fmt.Errorf("create a folder for the keys file: %w; set TMPDIR to a folder that can be written", err)
	}
	file := filepath.Join(dir, "keys.yaml")
	for _, k := range []struct {
		name, tenant, role, flag string
		token                    *string
	}{
		{"full", "conformance", "admin", "--token", &c.Token},
		{"read-only", "conformance", "reader", "--token-readonly", &c.TokenReadonly},
		{"other-tenant", "conformance-other", "admin", "--token-other-tenant", &c.TokenOtherTenant},
	} {
		if *k.token == "" {
			*k.token = httpapi.NewToken()
		}
		err := httpapi.AddKey(file, httpapi.Key{
			Name: k.name, Tenant: k.tenant, SHA256: httpapi.HashToken(*k.token),
			Brains: []string{httpapi.AllBrains}, Roles: []string{k.role},
		}, func() error { return nil })
		if err != nil {
			return dir, fmt.Errorf("%s: %w", k.flag, err)
		}
	}
	profile.Command = slices.Clone(profile.Command)
	for i, arg := range profile.Command {
		profile.Command[i] = strings.ReplaceAll(arg, keysPlaceholder, file)
	}
	return dir, nil
}
