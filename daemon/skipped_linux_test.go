package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store/gitremote"
	"evalctl/internal/awaittest"
	"evalctl/internal/sse"
)

// nobody makes the process one of a user without permissions, for the duration of a test, and returns a
// folder that it can use.
func nobody(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody") //nolint:usetesting // the user has no access to t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Geteuid() != 0 {
		return dir
	}
	const uid = 65534
	for at := filepath.Dir(dir); at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&1 == 0 {
			if dir, err = os.MkdirTemp("/tmp", "nobody"); err != nil { //nolint:usetesting // as above
				t.Fatal(err)
			}
			break
		}
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("HOME", dir)
	if err := errors.Join(os.Chown(dir, uid, uid), syscall.Setresuid(uid, uid, 0)); err != nil {
		t.Skipf("the user cannot be changed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Setresuid(0, 0, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// badItem is something that somebody puts where the documents of a brain are.
type badItem struct {
	name string // of the file or folder
	make func(file string) error
	// named is how the brain's record names it; "": name. quiet is in which stores nobody mentions it.
	named string
	quiet string
}

func file(path string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("walrus"), 0o600))
}

var deep = strings.Repeat("d/", 130) + "x.md"

var badItems = []badItem{
	{name: `a\b.md`, named: `"a\\b.md"`},
	{name: "bad\xff.md", named: `"bad\xff.md"`},
	{name: "bad\xff/walrus.md", named: `"bad\xff"`},
	{name: deep, named: strings.TrimSuffix(strings.Repeat("d/", 129), "/")},
	{name: strings.Repeat(strings.Repeat("n", 200)+"/", 6) + "walrus.md", named: strings.TrimSuffix(strings.Repeat(strings.Repeat("n", 200)+"/", 6), "/")},
	{name: "secret.md", make: func(path string) error { return errors.Join(file(path), os.Chmod(path, 0)) }},
	{name: "closed", make: func(path string) error { return errors.Join(file(path+"/walrus.md"), os.Chmod(path, 0)) }},
	{name: "pipe.md", make: func(path string) error { return syscall.Mkfifo(path, 0o600) }},
	{name: "socket.md", make: func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	}},
	{name: "dangling.md", make: func(path string) error { return os.Symlink("nowhere", path) }},
	{name: "link.md", make: func(path string) error { return os.Symlink("lamp.md", path) }},
	{name: "loop", make: func(path string) error { return os.Symlink(".", path) }},
	{name: ".DS_Store"}, {name: ".note.md.swp"}, {name: "note.md~"}, {name: ".#note.md"}, {name: ".obsidian/app.json", named: ".obsidian"},
	{name: ".trash/walrus.md", named: ".trash"}, {name: "note (conflicted copy 2024-01-31 120000).md"},
	{name: "%=%41B.md"}, {name: "ignored.tmp", quiet: daemon.StoreGit},
}

// found are the documents below /documents.
func found(t *testing.T, d running) (paths []string) {
	t.Helper()
	var list protocol.FileList
	if err := json.Unmarshal([]byte(d.expect(t, 200, "GET", "/v1/brains/b/documents?recursive=true", "", "")), &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Items {
		if !strings.HasPrefix(f.Path, "sessions/") {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// works checks that everything works but for what is not a document.
func works(t *testing.T, d running, extra ...string) {
	t.Helper()
	want := append([]string{".gitignore", "lamp.md", "sub/boat.md"}, extra...)
	slices.Sort(want)
	if diff := cmp.Diff(want, found(t, d)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	const brain = "/v1/brains/b"
	for request, want := range map[string]string{
		"GET /search?q=lamp":                                          `"path":"lamp.md"`,
		"GET /search?q=walrus":                                        `"chunks":[]`,
		"GET /documents":                                              `"title":"lamp"`,
		"GET /documents?recursive=true&glob=*.md":                     `"path":"sub/boat.md"`,
		"GET /documents?dir=sub":                                      `"path":"sub/boat.md"`,
		"GET /documents/stat?path=sub":                                `"is_dir":true`,
		"GET /documents/read?path=lamp.md":                            "lamp is red",
		`POST /ask {"question":"What colour is the lamp?"}`:           "event: done",
		`POST /sessions/s/messages {"role":"user","content":"hello"}`: `"content":"hello"`,
		`POST /consolidate {}`:                                        "",
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		status := 200
		if strings.HasSuffix(path, "/messages") {
			status = 201
		}
		kind := ""
		if body != "" {
			kind = js
		}
		if got := d.expect(t, status, method, brain+path, kind, body); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s", request, got)
		}
	}
	resp := d.open(t, "GET", brain+"/events", "", "")
	defer resp.Body.Close()
	defer time.AfterFunc(time.Minute, func() { resp.Body.Close() }).Stop()
	events := sse.NewReader(resp.Body, 0)
	if e, err := events.Next(); err != nil || e.Name != "ready" {
		t.Fatalf("events: %s, %v", e.Name, err)
	}
	d.expect(t, 204, "PUT", brain+"/documents?path=new.md", octets, "The net is torn.")
	for {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Data), "new.md") { // others are of the session
			break
		}
	}
	if got := d.expect(t, 200, "GET", brain+"/search?q=net", "", ""); !strings.Contains(got, `"path":"new.md"`) {
		t.Errorf("search: %s", got)
	}
	d.expect(t, 204, "DELETE", brain+"/documents?path=new.md", "", "")
}

// skipped returns what the brain's record names.
func skipped(t *testing.T, d running) map[string]string {
	t.Helper()
	var b protocol.Brain
	if err := json.Unmarshal([]byte(d.expect(t, 200, "GET", "/v1/brains/b", "", "")), &b); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, s := range b.Skipped {
		reasons[s.Path] = s.Reason
	}
	if len(reasons) != b.SkippedCount {
		t.Errorf("skipped: %q, of %d", reasons, b.SkippedCount)
	}
	return reasons
}

// TestBadItems: one bad item among the documents of a brain never stops the rest. It is named in the
// brain's record, and once in the log.
func TestBadItems(t *testing.T) {
	base := nobody(t)
	for kind, folder := range map[string]string{daemon.StoreFS: "documents", daemon.StoreGit: "repository"} {
		for i, item := range badItems {
			t.Run(fmt.Sprintf("%s %.20q", kind, item.name), func(t *testing.T) {
				home, log := filepath.Join(base, kind+strconv.Itoa(i)), &awaittest.Log{}
				cfg := onDisk(home, kind, log)
				d := serve(t, cfg)
				d.expect(t, 201, "POST", "/v1/brains", js, `{"id":"b"}`)
				for path, text := range map[string]string{"lamp.md": "The lamp is red.", "sub/boat.md": "The boat is green.", ".gitignore": "*.tmp\n"} {
					d.expect(t, 204, "PUT", "/v1/brains/b/documents?path="+path, octets, text)
				}
				if err := d.stop(); err != nil {
					t.Fatal(err)
				}
				create := item.make
				if create == nil {
					create = file
				}
				if err := create(filepath.Join(home, "brains", "b", folder, item.name)); err != nil {
					t.Fatal(err)
				}
				d = serve(t, cfg)
				var extra []string
				if kind == daemon.StoreFS && (item.name == "secret.md" || item.name == "ignored.tmp") {
					extra = []string{item.name} // it is a document
				}
				works(t, d, extra...)
				works(t, d, extra...)
				named := item.named
				if named == "" || kind == daemon.StoreGit && !strings.HasPrefix(named, `"`) {
					named = item.name
				}
				if len(named) > 200 {
					named = strconv.QuoteToASCII(named[:200]) + "..."
				}
				got := skipped(t, d)
				quiet := item.quiet == kind || item.name == "ignored.tmp"
				if quiet && len(got) > 0 || !quiet && (len(got) != 1 || got[named] == "") {
					t.Errorf("skipped: %q, want %q", got, named)
				}
				if lines := strings.Count(log.String(), "a file is skipped"); !quiet && lines != 1 || quiet && lines != 0 {
					t.Errorf("%d lines in the log: %s", lines, log)
				}
				if err := os.Chmod(filepath.Join(home, "brains", "b", folder, item.name), 0o700); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Log(err) // so that it can be removed
				}
			})
		}
	}
}

// TestBadRemote is TestBadItems for what is committed to the git remote of a brain.
func TestBadRemote(t *testing.T) {
	base := nobody(t)
	remote, clone := filepath.Join(base, "remote.git"), filepath.Join(base, "clone")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=o", "GIT_AUTHOR_EMAIL=o@x", "GIT_COMMITTER_NAME=o", "GIT_COMMITTER_EMAIL=o@x")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "--bare", "-b", "main", remote)
	git("clone", "-q", remote, clone)
	for name, text := range map[string]string{
		"lamp.md": "The lamp is red.", "sub/boat.md": "The boat is green.", ".gitignore": "*.tmp\n",
		".obsidian/app.json": "{}", "note.md~": "old", // committed, so they are documents
	} {
		path := filepath.Join(clone, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	named := []string{".gitmodules", "dangling.md", "link.md"}
	for _, item := range badItems {
		if item.make == nil && (strings.Contains(item.name, `\`) || !utf8.ValidString(item.name)) || item.name == deep || item.name == "link.md" || item.name == "dangling.md" {
			create := item.make
			if create == nil {
				create = file
				name := item.named
				if len(name) > 200 {
					name = strconv.QuoteToASCII(name[:200]) + "..."
				}
				named = append(named, name)
			}
			if err := create(filepath.Join(clone, item.name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(clone, ".gitmodules"), []byte("[submodule \"m\"]\n\tpath = m\n\turl = http://127.0.0.1:1/m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", clone, "add", ".")
	git("-C", clone, "commit", "-qm", "all")
	git("-C", clone, "push", "-q", "origin", "HEAD:main")
	address, err := gitremote.ParseAddress("file://"+remote, "main", false)
	if err != nil {
		t.Fatal(err)
	}
	log := &awaittest.Log{}
	cfg := onDisk(filepath.Join(base, "home"), daemon.StoreGit, log)
	cfg.Git.Remote = &address
	for range 2 {
		d := serve(t, cfg)
		if status, answer := d.send(t, "POST", "/v1/brains", js, `{"id":"b"}`); status != 201 && status != 409 {
			t.Fatalf("%d %s", status, answer)
		}
		works(t, d, ".obsidian/app.json", "note.md~")
		got := skipped(t, d)
		slices.Sort(named)
		var paths []string
		for path := range got {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		if diff := cmp.Diff(named, paths); diff != "" {
			t.Errorf("skipped (-want +got):\n%s", diff)
		}
		if err := d.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBadHome: what else is in the folder of the brains stops neither the daemon nor a brain.
func TestBadHome(t *testing.T) {
	home, log := t.TempDir(), &awaittest.Log{}
	cfg := onDisk(home, daemon.StoreFS, log)
	fill(t, cfg, "good")
	brains := filepath.Join(home, "brains")
	for name, create := range map[string]func(path string) error{
		"a-file":                 func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a-link":                 func(path string) error { return os.Symlink("nowhere", path) },
		"loop":                   func(path string) error { return os.Symlink("loop", path) },
		".DS_Store":              func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"good (conflicted copy)": func(path string) error { return os.Mkdir(path, 0o700) },
		"empty":                  func(path string) error { return os.Mkdir(path, 0o700) },
		"bad\xff":                func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), syscall.Mkfifo(filepath.Join(path, "brain.json"), 0o600))
		},
		"folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "brain.json"), 0o700) },
		".deleted-x-Y": func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "documents"), 0o700), os.Symlink("/", filepath.Join(path, "documents", "root")))
		},
	} {
		if err := create(filepath.Join(brains, name)); err != nil {
			t.Fatal(err)
		}
	}
	d := serve(t, cfg)
	if got := d.expect(t, 200, "GET", "/v1/brains/good/search?q=otter", "", ""); !strings.Contains(got, "a.md") {
		t.Errorf("found %s", got)
	}
	if got := d.expect(t, 200, "GET", "/v1/brains", "", ""); strings.Count(got, `"slug"`) != 1 {
		t.Errorf("brains: %s", got)
	}
	for _, id := range []string{"a-file", "a-link", "loop", "empty", "pipe", "folder"} {
		d.expect(t, 503, "GET", "/v1/brains/"+id+"/search?q=otter", "", "")
	}
}
