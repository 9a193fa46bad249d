package gitremote

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, tt := range []struct {
		url, branch string
		want        string // URL and branch of the brain notes of acme; or of an error
	}{
		{"https://example.com/{brain}.git", "", "https://example.com/notes.git main"},
		{"https://example.com/all.git", "", "https://example.com/all.git notes"},
		{"ssh://git@example.com:22/all.git", "x/{tenant}/{brain}", "ssh://git@example.com:22/all.git x/acme/notes"},
		{"git@example.com:{tenant}/{brain}.git", "dev", "git@example.com:acme/notes.git dev"},
		{"host:all.git", "", "host:all.git notes"},
		{"file:///srv/all.git", "main", "file:///srv/all.git main"},
		{"/srv/{brain}", "", "/srv/notes main"},
		{"https://token@example.com/all.git", "", "contains a user or a password"},
		{"https://me:hush@example.com/all.git", "", "contains a user or a password"},
		{"ssh://me:hush@example.com/all.git", "", "contains a user or a password"},
		{"https://me:hush@exa mple.com/", "", "a space or a control character"},
		{"https://me:hush%zz@example.com/", "", "is not valid"},
		{"ext::sh -c id", "", "a space or a control character"},
		{"/srv/{brian}.git", "", "{brian} is not replaced"},
		{"/srv/all.git", "x/{Brain}", "{Brain} is not replaced"},
		{"/srv/all.git", "a..b", `"a..b" is not a valid name of a branch`},
		{"/srv/all.git", "-x", "is not a valid name of a branch"},
		{"/srv/all.git", "a b", "is not a valid name of a branch"},
		{"/srv/all.git", "@", "is not a valid name of a branch"},
		{"/srv/all.git", "{brain}.lock", "is not a valid name of a branch"},
		{"ext::id", "", "is not an address"},
		{"ext://id", "", `scheme "ext" is not supported`},
		{"--upload-pack=id", "", "is not an address"},
		{"-oProxyCommand=id:x", "", "is not an address"},
		{"-x:y", "", "is not an address"},
		{"me@-x:y", "", "is not an address"},
		{"all.git", "", "is not an address"},
		{"", "", "is not an address"},
	} {
		a, err := ParseAddress(tt.url, tt.branch, false)
		var got string
		if err == nil {
			var url, branch string
			url, branch, err = a.of("notes", "acme")
			got = url + " " + branch
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "hush") || strings.Contains(got, "token@") {
			t.Errorf("%s %s: got %s, want %s", tt.url, tt.branch, got, tt.want)
		}
	}
}

func TestTenantsInAddress(t *testing.T) {
	if _, err := ParseAddress("/srv/{brain}", "", true); err == nil || !strings.Contains(err.Error(), "{tenant} must be in") {
		t.Errorf("without {tenant}: %v", err)
	}
	a, err := ParseAddress("/srv/{tenant}/{brain}", "", true)
	if err != nil {
		t.Fatal(err)
	}
	if url, _, err := a.of("b", ""); url != "/srv/+/b" || err != nil {
		t.Errorf("without a tenant: %s, %v", url, err)
	}
	for _, tenant := range []string{"..", ".", "a..b", ".git", "x.lock", "-x", "x."} {
		if url, _, err := a.of("b", tenant); err == nil {
			t.Errorf("%s became %s", tenant, url)
		}
	}
}

func TestShared(t *testing.T) {
	for text, want := range map[string]bool{"/a main": true, "/a {tenant}": true, "/a {brain}": false, "/{brain} main": false, "/a ": false} {
		url, branch, _ := strings.Cut(text, " ")
		a, err := ParseAddress(url, branch, false)
		if err != nil || a.Shared() != want {
			t.Errorf("%s: %t, %v", text, a.Shared(), err)
		}
	}
}
