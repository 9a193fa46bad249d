package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	p := Profile{Command: []string{"run", "--addr={addr}", "{port}{port}", "{home}", "{other}", "{", "{addr"}}
	got := p.expand(80, "/a b/{port}'; rm")
	want := []string{"run", "--addr=127.0.0.1:80", "8080", "/a b/{port}'; rm", "{other}", "{", "{addr"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestEnvironment(t *testing.T) {
	p := Profile{Env: []string{"A=b"}}
	for home, want := range map[string][]string{
		"":     {"SVC_ADDR=127.0.0.1:80", "A=b"},
		"/a b": {"SVC_ADDR=127.0.0.1:80", "SVC_HOME=/a b", "A=b"},
	} {
		if diff := cmp.Diff(want, p.environment(80, home)); diff != "" {
			t.Errorf("home %q (-want +got):\n%s", home, diff)
		}
	}
}

// Arguments and home are passed unchanged, and each stays a single argument.
func TestArgumentsAreUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := append([]string{"program"}, rapid.SliceOf(rapid.String()).Draw(t, "args")...)
		home := rapid.String().Draw(t, "home")
		p := Profile{Command: append(args, "{home}")}
		got := p.expand(1, home)
		if len(got) != len(args)+1 || got[len(args)] != home {
			t.Fatalf("%q became %q", args, got)
		}
		for i, arg := range args {
			if !strings.Contains(arg, "{") && got[i] != arg {
				t.Fatalf("argument %q became %q", arg, got[i])
			}
		}
	})
}

// wantError requires an error that contains all of the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error does not contain %q:\n%v", text, err)
		}
	}
}

// TestPortInAVariable: some services take their port and their folder from variables only.
func TestPortInAVariable(t *testing.T) {
	p := Profile{Command: []string{"serve"}, Env: []string{"PORT={port}", "DATA={home}/data", "OTHER={x}"}}
	want := []string{"SVC_ADDR=127.0.0.1:80", "SVC_HOME=/h", "PORT=80", "DATA=/h/data", "OTHER={x}"}
	if got := p.environment(80, "/h"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if p.Env = p.Env[1:]; p.takesPort() {
		t.Error("no variable has the port")
	}
	if p.Env = []string{"ADDR={addr}"}; !p.takesPort() {
		t.Error("a variable has the address")
	}
}
