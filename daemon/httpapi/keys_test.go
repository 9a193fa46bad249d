package httpapi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
)

var hash = HashToken("evk_x")

const goodKeys = `# Who may use the daemon.
keys:
  - name: ci # the build
    sha256: %s
    tenant: acme
    brains: ["*"]
    roles: [writer]
  - {name: bot, tenant: acme, sha256: %s, brains: [notes, eval], scopes: [search, ask], rate: {per_second: 0.5, burst: 3}}
`

func TestParseKeys(t *testing.T) {
	keys, err := ParseKeys("keys.yaml", fmt.Appendf(nil, goodKeys, hash, HashToken("evk_y")))
	if err != nil {
		t.Fatal(err)
	}
	want := []Key{
		{Name: "ci", Tenant: "acme", SHA256: hash, Brains: []string{"*"}, Roles: []string{"writer"}},
		{Name: "bot", Tenant: "acme", SHA256: HashToken("evk_y"), Brains: []string{"notes", "eval"},
			Scopes: []string{"search", "ask"}, Rate: &Rate{PerSecond: 0.5, Burst: 3}},
	}
	if diff := cmp.Diff(want, keys.List()); diff != "" {
		t.Error(diff)
	}
	for token, name := range map[string]string{"evk_x": "ci", "evk_y": "bot", "evk_z": "", "": "", hash: ""} {
		c := keys.find(token)
		if (c == nil) != (name == "") || c != nil && c.Name != name {
			t.Errorf("%q found %+v, want %q", token, c, name)
		}
	}
}

func TestKeysAreRefused(t *testing.T) {
	key := func(more string) string {
		return "keys:\n  - name: a\n    tenant: t\n    sha256: " + hash + "\n    brains: [x]\n    roles: [reader]\n" + more
	}
	for _, tt := range []struct{ file, want string }{
		{key("    role: admin\n"), `^k\.yaml:7: unknown field role$`},
		{key("") + "user: x\n", `^k\.yaml:7: unknown field user$`},
		{key("    tenant: u\n"), `^k\.yaml:7: mapping key "tenant" already defined at line 3$`},
		{strings.Replace(key(""), "[reader]", "[boss]", 1), `^k\.yaml:2: key "a": role "boss" is not one of admin, reader, writer$`},
		{strings.Replace(key(""), "roles: [reader]", "scopes: [open]", 1), `scope "open" is not one of admin, ask, documents:read`},
		{strings.Replace(key(""), "roles: [reader]", "roles: []", 1), `neither roles nor scopes`},
		{strings.Replace(key(""), "[x]", "[]", 1), `brains is missing`},
		{strings.Replace(key(""), "[x]", "[X]", 1), `brain "X" is neither an id nor "\*"`},
		{strings.Replace(key(""), hash, "evk_secret", 1), `^k\.yaml:2: key "a": sha256 must be 64 hexadecimal digits`},
		{strings.Replace(key(""), hash, hash[1:], 1), `sha256 must be 64`},
		{strings.Replace(key(""), "name: a", "name: ''", 1), `name and tenant`},
		{strings.Replace(key(""), "tenant: t", "tenant: a b", 1), `name and tenant`},
		{key("    rate: {per_second: 0, burst: 1}\n"), `rate needs`},
		{key("    rate: {per_second: .inf, burst: 1}\n"), `rate needs`},
		{key("    rate: {per_second: .nan, burst: 1}\n"), `rate needs`},
		{key("    rate: {per_second: 1}\n"), `rate needs`},
		{key("    rate: {per_second: 1, burst: many}\n"), `^k\.yaml:7: cannot unmarshal`},
		{key(key("")[len("keys:\n"):]), `^k\.yaml:7: key "a": this name is taken$`},
		{key(strings.Replace(key("")[len("keys:\n"):], "name: a", "name: b", 1)), `^k\.yaml:7: key "b": key "a" has the same token$`},
		{key("---\n"), `more than one YAML document`},
		{"keys: {", `^k\.yaml:1: `},
		{"keys: [null]", `^k\.yaml: an entry of keys is empty$`},
		{"- a", `^k\.yaml:1: `},
		{"a\x00", `^k\.yaml: control characters`},
	} {
		_, err := ParseKeys("k.yaml", []byte(tt.file))
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%s\ngot %v, want %s", tt.file, err, tt.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows what may be a token: %v", err)
		}
	}
}

func newKey(name string) Key {
	return Key{Name: name, Tenant: "acme", SHA256: HashToken(NewToken()), Brains: []string{"*"}, Roles: []string{"reader"}}
}

// delivered is a successful delivery of a token.
func delivered() error { return nil }

// TestAddKey adds keys to files of every layout.
func TestAddKey(t *testing.T) {
	two := fmt.Sprintf(goodKeys, hash, HashToken("evk_y"))
	for name, content := range map[string]string{
		"new.yaml": "", "comment.yaml": "# mine\n", "null.yaml": "keys:\n", "none.yaml": "keys: []\n", "two.yml": two,
		"flow.yaml": `{"keys": [{"name": "a", "tenant": "t", "sha256": "` + hash + `", "brains": ["*"], "roles": ["admin"]}]}`,
		"tabs.json": "{\n\t\"keys\": []\n}\n", "new.json": "",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if content != "" {
				if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before, err := ParseKeys(name, []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			added := []Key{newKey("n1"), newKey("n2")}
			for _, k := range added {
				if err := AddKey(file, k, delivered); err != nil {
					t.Fatal(err)
				}
			}
			after, err := ReadKeys(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(before.List(), added...), after.List()); diff != "" {
				t.Error(diff)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("mode is %v", info.Mode())
			}
			data, _ := os.ReadFile(file)
			for _, comment := range regexp.MustCompile(`#.*`).FindAllString(content, -1) {
				if !strings.Contains(string(data), comment) {
					t.Errorf("the comment %q is missing in\n%s", comment, data)
				}
			}
			if err := AddKey(file, newKey("n1"), delivered); err == nil || !strings.Contains(err.Error(), `key "n1": this name is taken`) {
				t.Errorf("a second n1: %v", err)
			}
			if again, _ := os.ReadFile(file); string(again) != string(data) {
				t.Error("a rejected key changed the file")
			}
		})
	}
}

func TestAddKeyLeavesWhatItCannotExtend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "k.yaml")
	for content, want := range map[string]string{
		"{}":                           "plain list",
		"<<: {keys: []}":               "plain list",
		"keys:\n  - name: a\n    x: y": ":3: unknown field x",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddKey(file, newKey("n"), delivered); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", content, err)
		}
		if data, _ := os.ReadFile(file); string(data) != content {
			t.Errorf("%s became %s", content, data)
		}
	}
}

func TestAddKeyConcurrently(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if err := AddKey(file, newKey(fmt.Sprint("k", i)), delivered); err != nil {
				t.Error(err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(keys.List()); n != 12 {
		t.Errorf("got %d keys, want 12", n)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

// TestAddKeyThroughLink: the link remains, and the key and the lock are next to the file it points
// to.
func TestAddKeyThroughLink(t *testing.T) {
	dir := t.TempDir()
	file, link, chain := filepath.Join(dir, "real", "keys.json"), filepath.Join(dir, "link.json"), filepath.Join(dir, "chain.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{link: filepath.Join("real", "keys.json"), chain: "link.json"} {
		if err := os.Symlink(to, from); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	if err := AddKey(link, newKey("early"), delivered); err == nil || !strings.Contains(err.Error(), "link.json is a symbolic link to a file that does not exist") {
		t.Errorf("a link to a missing file: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, through := range []string{link, chain, file} {
		if err := AddKey(through, newKey(fmt.Sprint("k", i)), delivered); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []string{link, chain} {
		if info, err := os.Lstat(l); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v", l, err)
		}
	}
	keys, err := ReadKeys(file)
	if err != nil || len(keys.List()) != 3 {
		t.Errorf("got %v, %v", keys, err)
	}
	if locks, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(locks) > 0 {
		t.Errorf("locked %v: another caller may lock the file itself", locks)
	}
}

// TestAddKeyUndelivered: a key whose token was not delivered is not added.
func TestAddKeyUndelivered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	full := errors.New("no space left")
	if err := AddKey(file, newKey("n"), func() error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was created: %v", err)
	}
	if err := AddKey(file, newKey("n"), delivered); err != nil {
		t.Error(err)
	}
	before, _ := os.ReadFile(file)
	_ = AddKey(file, newKey("m"), func() error { return full })
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Errorf("the file became\n%s", after)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

func TestReadKeysNeedsAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	if _, err := ReadKeys(file); err == nil || !strings.Contains(err.Error(), "evalctl serve keys create") {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(file, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(file); err == nil || !strings.Contains(err.Error(), "contains no key") {
		t.Errorf("empty: %v", err)
	}
}

func TestNewToken(t *testing.T) {
	form := regexp.MustCompile(`^evk_[A-Za-z0-9_-]{43}$`)
	a, b := NewToken(), NewToken()
	if !form.MatchString(a) || a == b {
		t.Errorf("got %s and %s", a, b)
	}
	if !bearer().MatchString("Bearer " + a) {
		t.Error("a token is not valid in its header")
	}
}

// FuzzParseKeys: an accepted file can be extended without changing its keys, or extend fails.
func FuzzParseKeys(f *testing.F) {
	f.Add(fmt.Sprintf(goodKeys, hash, HashToken("evk_y")))
	f.Add(`{"keys": [{"name": "a", "tenant": "t", "sha256": "` + hash + `", "brains": ["*"], "roles": ["admin"]}]}`)
	f.Add("keys: &a []\n")
	f.Add("keys: [null, ~]")
	f.Add("<<: {keys: []}")
	f.Add("keys:\n- &k {name: a, <<: *k}")
	f.Add("# c\n---\nkeys: !!seq []\n...\n")
	k := newKey("zz-new")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys("k.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "k.yaml:") {
				t.Errorf("no file name in %v", err)
			}
			return
		}
		for _, c := range keys.callers() {
			if len(c.grants) == 0 || c.Tenant == "" || len(c.Brains) == 0 || c.grants[scopeOpen] {
				t.Errorf("accepted %+v", c)
			}
		}
		data, err := extend("k.yaml", []byte(text), k)
		if err != nil {
			return
		}
		again, err := ParseKeys("k.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(keys.List(), k), again.List()); diff != "" {
			t.Error(diff)
		}
	})
}
