package launch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"
	"pgregory.net/rapid"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name     string
		sdk      string
		env      map[string]string
		override string
		want     Profile
	}{
		{name: "go by default", sdk: "go", want: Profile{
			SDK: "go", Announces: true,
			Command: []string{"/bin/evalctl", "serve", "--addr", "{addr}", "--home={home}"}}},
		{name: "built in, in memory", sdk: "go", env: map[string]string{"SVC_STORE": "memory"}, want: Profile{
			SDK: "go", Command: []string{"/bin/evalctl", "serve", "--addr", "{addr}", "--home="}, Announces: true}},
		{name: "go configured", sdk: "go",
			env:  map[string]string{"SVC_SDK_GO_CMD": "go run ./cmd/x --addr {addr}", "SVC_SDK_GO_DIR": "/src/go"},
			want: Profile{SDK: "go", Command: []string{"go", "run", "./cmd/x", "--addr", "{addr}"}, Dir: "/src/go"}},
		{name: "ts", sdk: "ts", env: map[string]string{"SVC_SDK_TS_CMD": "npx tsx d.ts {port}"},
			want: Profile{SDK: "ts", Command: []string{"npx", "tsx", "d.ts", "{port}"}}},
		{name: "no shell", sdk: "py",
			env:  map[string]string{"SVC_SDK_PY_CMD": `python3 'my daemon.py' "$HOME" *.py a\ b; rm`},
			want: Profile{SDK: "py", Command: []string{"python3", "my daemon.py", "$HOME", "*.py", "a b;", "rm"}}},
		{name: "override wins", sdk: "py", env: map[string]string{"SVC_SDK_PY_CMD": "no", "SVC_SDK_PY_DIR": "/src/py"},
			override: "yes {addr}",
			want:     Profile{SDK: "py", Command: []string{"yes", "{addr}"}, Dir: "/src/py"}},
		{name: "other sdk's variable", sdk: "go", env: map[string]string{"SVC_SDK_PY_CMD": "no"}, override: "yes",
			want: Profile{SDK: "go", Command: []string{"yes"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := func(name string) string { return test.env[name] }
			got, err := Resolve(test.sdk, "/bin/evalctl", env, test.override)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("profile (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct {
		name, sdk, line, override string
		want                      []string
	}{
		{name: "unset", sdk: "ts",
			want: []string{"SVC_SDK_TS_CMD", "export SVC_SDK_TS_CMD='npx tsx daemon.ts serve --addr {addr}'"}},
		{name: "unset py", sdk: "py", want: []string{"SVC_SDK_PY_CMD", "{addr}"}},
		{name: "open quote", sdk: "py", line: `python3 'daemon.py --auth tok3n`,
			want: []string{"SVC_SDK_PY_CMD", "quote"}},
		{name: "open quote in the override", sdk: "py", override: `python3 "`,
			want: []string{"the daemon command", "quote"}},
		{name: "blank", sdk: "go", line: "  ", want: []string{"SVC_SDK_GO_CMD", "no program"}},
		{name: "empty program", sdk: "go", line: "'' serve", want: []string{"SVC_SDK_GO_CMD", "no program"}},
		{name: "sdk", sdk: "rust", want: []string{`"rust"`, "ts, go, py"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Resolve(test.sdk, "/bin/evalctl", func(name string) string {
				if strings.HasSuffix(name, "_CMD") {
					return test.line
				}
				return ""
			}, test.override)
			wantError(t, err, test.want...)
			if !errors.Is(err, errNotConfigured) {
				t.Errorf("%v is not ErrNotConfigured", err)
			}
			if strings.Contains(err.Error(), "tok3n") {
				t.Errorf("the error contains the command line: %v", err)
			}
		})
	}
}

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
		p, err := Resolve("ts", "", func(string) string { return "" }, shellquote.Join(append(args, "{home}")...))
		if err != nil {
			t.Fatal(err)
		}
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
