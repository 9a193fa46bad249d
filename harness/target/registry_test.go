package target

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"
	"pgregory.net/rapid"

	"evalctl/harness/launch"
	"evalctl/harness/result"
)

// registry returns one with environment variables.
func registry(env, defined map[string]string) Registry {
	return Registry{Self: "/bin/evalctl", Env: func(name string) string { return env[name] }, Defined: defined}
}

func TestFind(t *testing.T) {
	own := launch.Profile{Announces: true, Command: []string{"/bin/evalctl", "serve", "--addr", "{addr}", "--home={home}"}}
	tests := []struct {
		name, given  string
		env, defined map[string]string
		want         Definition
	}{
		{name: "go by default", given: "go", want: Definition{Name: "go", Own: true, Profile: own}},
		{name: "built in, in memory", given: "go", env: map[string]string{"SVC_STORE": "memory"},
			want: Definition{Name: "go", Own: true, Profile: launch.Profile{
				Announces: true, Command: []string{"/bin/evalctl", "serve", "--addr", "{addr}", "--home="}}}},
		{name: "built in, in memory by its definition", given: "mem=SVC_STORE=memory go",
			want: Definition{Name: "mem", Own: true, Profile: launch.Profile{
				Announces: true, Command: []string{"/bin/evalctl", "serve", "--addr", "{addr}", "--home="}, Env: []string{"SVC_STORE=memory"}}}},
		{name: "go configured", given: "go",
			env: map[string]string{"SVC_SDK_GO_CMD": "go run ./cmd/x --addr {addr}", "SVC_SDK_GO_DIR": "/src/go"},
			want: Definition{Name: "go", Profile: launch.Profile{
				Command: []string{"go", "run", "./cmd/x", "--addr", "{addr}"}, Dir: "/src/go"}}},
		{name: "any name in the environment", given: "my-rust", env: map[string]string{"SVC_SDK_MY_RUST_CMD": "rustd {port}"},
			want: Definition{Name: "my-rust", Profile: launch.Profile{Command: []string{"rustd", "{port}"}}}},
		{name: "no shell", given: `py=python3 'my daemon.py' "$HOME" *.py a\ b; rm`,
			want: Definition{Name: "py", Profile: launch.Profile{
				Command: []string{"python3", "my daemon.py", "$HOME", "*.py", "a b;", "rm"}}}},
		{name: "a command that is called like a target", given: "old=go run ./cmd/x",
			want: Definition{Name: "old", Profile: launch.Profile{Command: []string{"go", "run", "./cmd/x"}}}},
		{name: "a variable wins over the file", given: "ts", env: map[string]string{"SVC_SDK_TS_CMD": "one"},
			defined: map[string]string{"ts": "two"},
			want:    Definition{Name: "ts", Profile: launch.Profile{Command: []string{"one"}}}},
		{name: "URL", given: "rust=http://127.0.0.1:1/a?b=c", want: Definition{Name: "rust", Endpoint: "http://127.0.0.1:1/a?b=c"}},
		{name: "URL with settings", given: "rust=https://h --mode bm25 --dialect=camel",
			want: Definition{Name: "rust", Endpoint: "https://h", Settings: Settings{Mode: "bm25", Dialect: result.Camel}}},
		{name: "settings of one daemon", given: "a=go --mode hybrid",
			want: Definition{Name: "a", Own: true, Profile: own, Settings: Settings{Mode: "hybrid"}}},
		{name: "settings under its own name", given: "go=go --mode hybrid",
			want: Definition{Name: "go", Own: true, Profile: own, Settings: Settings{Mode: "hybrid"}}},
		{name: "from the file, through another", given: "b",
			defined: map[string]string{"b": "a --mode bm25", "a": "rust --dialect snake", "rust": "rustd --addr {addr}"},
			want: Definition{Name: "b", Settings: Settings{Mode: "bm25", Dialect: result.Snake},
				Profile: launch.Profile{Command: []string{"rustd", "--addr", "{addr}"}}}},
		{name: "assignments", given: "b=SVC_EMBED_PROVIDER=fake 'A=b c' go --mode hybrid",
			want: Definition{Name: "b", Own: true, Settings: Settings{Mode: "hybrid"}, Profile: launch.Profile{
				Announces: true, Command: own.Command, Env: []string{"SVC_EMBED_PROVIDER=fake", "A=b c"}}}},
		{name: "an MCP server", given: "m=mcp:npx -y 'a b'", want: Definition{Name: "m", MCP: true, Profile: launch.Profile{Command: []string{"npx", "-y", "a b"}}}},
		{name: "an MCP server with settings", given: "m=mcp: --mapping ./m.yaml --mode=bm25 A=1 x --mapping y",
			want: Definition{Name: "m", MCP: true, Settings: Settings{Mapping: "./m.yaml", Mode: "bm25"},
				Profile: launch.Profile{Command: []string{"x", "--mapping", "y"}, Env: []string{"A=1"}}}},
		{name: "an MCP server at a URL", given: "m=mcp:https://h/mcp --mapping memory-tools",
			want: Definition{Name: "m", MCP: true, Endpoint: "https://h/mcp", Settings: Settings{Mapping: "memory-tools"}}},
		{name: "settings before a URL", given: "m=--mapping ./m.yaml https://h --mode bm25",
			want: Definition{Name: "m", Endpoint: "https://h", Settings: Settings{Mapping: "./m.yaml", Mode: "bm25"}}},
		{name: "settings before a command over HTTP", given: "m=--mapping=./m.yaml A=1 x --mapping y",
			want: Definition{Name: "m", Settings: Settings{Mapping: "./m.yaml"}, Profile: launch.Profile{Command: []string{"x", "--mapping", "y"}, Env: []string{"A=1"}}}},
		{name: "settings before a name", given: "m=--mode bm25 go --dialect camel",
			want: Definition{Name: "m", Own: true, Profile: own, Settings: Settings{Mode: "bm25", Dialect: result.Camel}}},
		{name: "another protocol at a URL", given: "m=https://h --mapping ./m.yaml",
			want: Definition{Name: "m", Endpoint: "https://h", Settings: Settings{Mapping: "./m.yaml"}}},
		{name: "an MCP server of the file", given: "m", defined: map[string]string{"m": "mcp:x"},
			want: Definition{Name: "m", MCP: true, Profile: launch.Profile{Command: []string{"x"}}}},
		{name: "assignments of a command", given: "b=A=1 x {addr}",
			want: Definition{Name: "b", Profile: launch.Profile{Command: []string{"x", "{addr}"}, Env: []string{"A=1"}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := registry(test.env, test.defined).Find(test.given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("definition (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindServer: a server for which a mapping is wanted may have an argument with that name.
func TestFindServer(t *testing.T) {
	d, err := registry(nil, nil).FindServer("m=mcp:x --mapping y")
	if diff := cmp.Diff([]string{"x", "--mapping", "y"}, d.Profile.Command); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestFindErrors(t *testing.T) {
	tests := []struct {
		name, given  string
		env, defined map[string]string
		want         []string
	}{
		{name: "ts", given: "ts", want: []string{"SVC_SDK_TS_CMD", "export SVC_SDK_TS_CMD='npx tsx daemon.ts serve --addr {addr}'"}},
		{name: "py", given: "py", want: []string{"SVC_SDK_PY_CMD", "{addr}"}},
		{name: "unknown", given: "rust", defined: map[string]string{"old": "x"},
			want: []string{"target rust", "rust=URL", "SVC_SDK_RUST_CMD", "set up: go, old"}},
		{name: "no name", given: "http://h/?a=b", want: []string{`"http://h/?a"`, "NAME=URL"}},
		{name: "folder", given: "../x=y", want: []string{`"../x"`}},
		{name: "large letters", given: "Go", want: []string{`"Go"`, "did you mean go?"}},
		{name: "a mapping after the command", given: "m=mcp:x --mapping=y.yaml", want: []string{"m='mcp: --mapping MAPPING COMMAND'"}},
		{name: "assignments before mcp:", given: "m=A=1 mcp:x", want: []string{"m='mcp: A=1 COMMAND'"}},
		{name: "too long", given: strings.Repeat("a", 65), want: []string{"64"}},
		{name: "open quote", given: "x=a 'tok3n", want: []string{"target x", "quote"}},
		{name: "open quote in a variable", given: "py", env: map[string]string{"SVC_SDK_PY_CMD": "python3 'tok3n"},
			want: []string{"SVC_SDK_PY_CMD", "quote"}},
		{name: "blank", given: "go", env: map[string]string{"SVC_SDK_GO_CMD": "  "}, want: []string{"SVC_SDK_GO_CMD", "no program"}},
		{name: "empty", given: "x=", want: []string{"target x", "no program"}},
		{name: "empty program", given: "x='' serve", want: []string{"no program"}},
		{name: "only assignments", given: "x=A=b", want: []string{"no program"}},
		{name: "by itself", given: "a", defined: map[string]string{"a": "b --mode bm25", "b": "a"}, want: []string{"a is defined by itself"}},
		{name: "by itself at once", given: "a", defined: map[string]string{"a": "a --mode bm25"}, want: []string{"defined by itself"}},
		{name: "mode", given: "a=go --mode best", want: []string{"--mode best", "hybrid-rerank"}},
		{name: "dialect", given: "a=go --dialect kebab", want: []string{"--dialect kebab", "camel"}},
		{name: "setting", given: "a=go --top-k 5", want: []string{"--top-k", "--mode, --dialect and --mapping"}},
		{name: "setting of a command", given: "a=--top-k 5 x", want: []string{"--top-k", "--mode, --dialect and --mapping"}},
		{name: "no value", given: "a=go --mode", want: []string{"--mode has no value"}},
		{name: "secret", given: "a=OPENAI_API_KEY=tok3n go", want: []string{"OPENAI_API_KEY", "in the environment"}},
		{name: "environment of a URL", given: "a=A=b http://h", want: []string{"running already"}},
		{name: "environment of a target at a URL", given: "a=A=b rust", defined: map[string]string{"rust": "http://h"},
			want: []string{"rust is running already"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := registry(test.env, test.defined).Find(test.given)
			if err == nil {
				t.Fatal("got no error")
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error does not contain %q:\n%v", text, err)
				}
			}
			if strings.Contains(err.Error(), "tok3n") {
				t.Errorf("the error contains the definition: %v", err)
			}
		})
	}
}

// The words of a command are passed unchanged, and each stays a single argument.
func TestWordsAreUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := append([]string{"./program"}, rapid.SliceOf(rapid.String()).Draw(t, "words")...)
		d, err := registry(nil, nil).Find("x=" + shellquote.Join(words...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(words, d.Profile.Command); diff != "" {
			t.Fatalf("command (-want +got):\n%s", diff)
		}
	})
}
