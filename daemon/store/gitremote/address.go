package gitremote

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"evalctl/daemon/store/gitstore"
)

// The parts of an Address that are replaced for each brain.
const (
	brainPart  = "{brain}"
	tenantPart = "{tenant}"
)

// braced matches text that looks like one of these parts.
var braced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{[A-Za-z_-]*\}`)
})

// noTenant replaces tenantPart for a brain without a tenant. No tenant has this name.
const noTenant = "+"

// defaultBranch is the branch if the URL differs from brain to brain.
const defaultBranch = "main"

// Address is where the repositories of brains are: a URL and a branch in it. Either may contain
// {brain}, the id of the brain, and {tenant}, the tenant that owns it.
type Address struct{ url, branch string }

// ParseAddress checks a URL and a branch. An empty branch means main if the URL contains {brain},
// and else {brain}, so that each brain has a branch of its own. With tenants, {tenant} must be in
// one of both: otherwise a brain could receive the documents of another tenant's deleted brain with
// the same id.
//
// A URL is one of https, http, ssh, git or file, USER@HOST:PATH as of scp, or an absolute path. It
// must not contain a password, and for http no user either, because that is often a token.
func ParseAddress(rawURL, branch string, tenants bool) (Address, error) {
	a := Address{rawURL, branch}
	if branch == "" {
		a.branch = defaultBranch
		if !strings.Contains(rawURL, brainPart) {
			a.branch = brainPart
		}
	}
	if err := checkURL(rawURL); err != nil {
		return Address{}, err
	}
	for _, part := range braced().FindAllString(a.url+" "+a.branch, -1) {
		if part != brainPart && part != tenantPart {
			return Address{}, fmt.Errorf("%s is not replaced: only %s and %s are", part, brainPart, tenantPart)
		}
	}
	if !gitstore.ValidBranch(strings.NewReplacer(brainPart, "x", tenantPart, "x").Replace(a.branch)) {
		return Address{}, fmt.Errorf("the branch %.60q is not a valid name of a branch of git", a.branch)
	}
	if tenants && !strings.Contains(a.url+a.branch, tenantPart) {
		return Address{}, fmt.Errorf("with keys, %s must be in the URL or the branch: a brain that a tenant creates "+
			"could receive the documents of another tenant's deleted brain", tenantPart)
	}
	return a, nil
}

// scp matches the addresses of scp. Git understands HOST:PATH with and without a user.
var scp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9_.][A-Za-z0-9_.-]*@)?[A-Za-z0-9_.][A-Za-z0-9_.-]*:[^:]`)
})

func checkURL(rawURL string) error {
	if strings.ContainsFunc(rawURL, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("the URL contains a space or a control character")
	}
	scheme, _, hasScheme := strings.Cut(rawURL, "://")
	if !hasScheme {
		if filepath.IsAbs(rawURL) || scp().MatchString(rawURL) && !strings.Contains(rawURL, "::") {
			return nil
		}
		return fmt.Errorf("%q is not an address of a repository: use https://, ssh:// or file://, USER@HOST:PATH or an "+
			"absolute path", withoutUser(rawURL))
	}
	// Braces are not valid in a host, but may be in a path.
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(rawURL))
	if err != nil { // its text would have the whole URL
		return errors.New("the URL is not valid")
	}
	_, password := u.User.Password()
	switch {
	case password, u.User != nil && (scheme == "http" || scheme == "https"):
		return errors.New("the URL contains a user or a password: let a credential helper of git supply them " +
			"(git config --global credential.helper)")
	case scheme == "https", scheme == "http", scheme == "ssh", scheme == "git", scheme == "file":
		return nil
	}
	return fmt.Errorf("the scheme %.20q is not supported: use https, http, ssh, git or file", scheme)
}

var userinfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^/]*@`)
})

func withoutUser(text string) string { return userinfo().ReplaceAllString(text, "") }

// Shared reports whether all brains would have the same branch at the same URL. Then there may be
// only one brain.
func (a Address) Shared() bool { return !strings.Contains(a.url+a.branch, brainPart) }

// PerTenant reports whether the brains of different tenants have different addresses.
func (a Address) PerTenant() bool { return strings.Contains(a.url+a.branch, tenantPart) }

// fixed reports whether the URL is the same for all brains.
func (a Address) fixed() bool {
	return !strings.Contains(a.url, brainPart) && !strings.Contains(a.url, tenantPart)
}

// of returns the URL and the branch of a brain.
func (a Address) of(brain, tenant string) (rawURL, branch string, err error) {
	if tenant == "" {
		tenant = noTenant
	}
	if strings.Contains(a.url+a.branch, tenantPart) && (tenant[0] == '.' || tenant[0] == '-' ||
		strings.Contains(tenant, "..") || strings.HasSuffix(tenant, ".") || strings.HasSuffix(tenant, ".lock")) {
		return "", "", fmt.Errorf("the tenant %q has a name that cannot be part of a URL or a branch", tenant)
	}
	r := strings.NewReplacer(brainPart, brain, tenantPart, tenant)
	return r.Replace(a.url), r.Replace(a.branch), nil
}
