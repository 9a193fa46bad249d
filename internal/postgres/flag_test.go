package postgres_test

import (
	"strings"
	"testing"

	"evalctl/internal/postgres"
)

// TestCheckFlag allows a password only where other users cannot read it, and never repeats it.
func TestCheckFlag(t *testing.T) {
	const secret, plain = "postgres://u:hunter2@db/x", "postgres://u@db/x"
	env := func(name string) string { return map[string]string{"SVC_STORE": secret}[name] }
	for _, tt := range []struct {
		conn string
		args []string
		ok   bool
	}{
		{plain, []string{"serve", "--store", plain}, true},
		{secret, []string{"serve"}, true},
		{secret, []string{"serve", "--store=" + secret}, false},
		{"postgres://u:other@db/x", []string{"serve"}, false}, // from a file
	} {
		err := postgres.CheckFlag(tt.conn, "--store", "SVC_STORE", tt.args, env)
		if (err == nil) != tt.ok {
			t.Errorf("%s %q: %v", tt.conn, tt.args, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "set the URL in SVC_STORE")) {
			t.Error(err)
		}
	}
	got := postgres.Mask("unexpected argument " + secret + " after " + plain)
	if want := "unexpected argument postgres://**** after " + plain; got != want {
		t.Errorf("got %s", got)
	}
}
