package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// image is a container image without a base image.
type image struct {
	root           string // the file system
	env            []string
	dir            string
	uid, gid       int
	entry, command []string
	health         []string
}

// testImage builds the Dockerfile of a clone into a folder and runs its daemon there, with the
// folder as the root of the file system and as the user of the image. Nothing else is mounted, not
// even /proc.
func testImage(t *testing.T, clone string) {
	for _, store := range []string{"fs", "git"} {
		t.Run(store, func(t *testing.T) {
			img := buildImage(t, clone)
			img.env = append(img.env, "SVC_STORE="+store, "SVC_ADDR=0.0.0.0:0")
			if out, code := img.output(t, img.command); code != exitUsage || !strings.Contains(out, "keys.yaml: no such file") {
				t.Fatalf("without keys: exit code %d, %s", code, out)
			}
			token, code := img.output(t, strings.Fields("keys create --file /data/keys.yaml --name ci --tenant acme --role writer"))
			if code != exitDone {
				t.Fatalf("keys create: exit code %d, %s", code, token)
			}
			img.serve(t, func(url string) {
				call(t, token, http.MethodPost, url+"/v1/brains", "application/json", `{"name":"Notes"}`)
				call(t, token, http.MethodPut, url+"/v1/brains/notes/documents?path=kettle.md", "application/octet-stream", "The kettle is green.")
				found := call(t, token, http.MethodPost, url+"/v1/brains/notes/search", "application/json", `{"query":"kettle"}`)
				if !strings.Contains(found, "kettle.md") {
					t.Errorf("found %s", found)
				}
			})
			img.serve(t, func(url string) { // the next container with the same volume
				if got := call(t, token, http.MethodGet, url+"/v1/brains/notes/documents/read?path=kettle.md", "", ""); got != "The kettle is green." {
					t.Errorf("read %q", got)
				}
			})
		})
	}
}

// buildImage interprets the Dockerfile of a clone like docker build.
func buildImage(t *testing.T, clone string) *image {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clone, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	img := &image{root: t.TempDir()}
	if err := os.Chmod(img.root, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(string(text), "\\\n", " ")
	for line := range strings.Lines(lines) {
		f := strings.Fields(strings.ReplaceAll(line, "${TARGETARCH}", runtime.GOARCH))
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		switch f[0] {
		case "FROM":
			if len(f) != 2 || f[1] != "scratch" {
				t.Fatalf("%s: a base image would have to be downloaded", line)
			}
		case "COPY":
			img.copy(t, clone, f[1:])
		case "ENV":
			img.env = append(img.env, f[1:]...)
		case "WORKDIR":
			img.dir = f[1]
		case "USER":
			img.uid, img.gid = ids(t, f[1])
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(line, "CMD")
			img.health = list(t, command)
		case "ENTRYPOINT":
			img.entry = list(t, strings.Join(f[1:], " "))
		case "CMD":
			img.command = list(t, strings.Join(f[1:], " "))
		case "ARG", "VOLUME", "EXPOSE":
		default:
			t.Fatalf("%s: unknown instruction", line)
		}
	}
	if img.uid == 0 || len(img.health) == 0 {
		t.Fatalf("the image runs as uid %d with health check %q", img.uid, img.health)
	}
	return img
}

func list(t *testing.T, text string) (out []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func ids(t *testing.T, text string) (uid, gid int) {
	t.Helper()
	user, group, _ := strings.Cut(text, ":")
	uid, err := strconv.Atoi(user)
	if err != nil {
		t.Fatalf("%s: not a numeric user id; the image has no user names", text)
	}
	if gid, err = strconv.Atoi(group); err != nil {
		t.Fatalf("%s: not a numeric group id; the image has no group names", text)
	}
	return uid, gid
}

// copy executes COPY [--chown=UID:GID] SOURCE TARGET.
func (i *image) copy(t *testing.T, clone string, args []string) {
	t.Helper()
	owner, owned := strings.CutPrefix(args[0], "--chown=")
	if owned {
		args = args[1:]
	}
	from, to := filepath.Join(clone, args[0]), filepath.Join(i.root, args[1])
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsDir() {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, info.Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if !owned || os.Getuid() != 0 {
		return // the user of the image is mapped to the user of this test
	}
	uid, gid := ids(t, owner)
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chown(filepath.Join(to, e.Name()), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts a process of the image. It skips the test if this machine does not allow that.
func (i *image) start(t *testing.T, out io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = i.env, i.dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     i.root,
		Credential: &syscall.Credential{Uid: uint32(i.uid), Gid: uint32(i.gid), NoSetGroups: os.Getuid() != 0},
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: i.uid, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: i.gid, HostID: os.Getgid(), Size: 1}}
	}
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		t.Skipf("needs root or user namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// output runs the entry point with arguments and returns its output and exit code.
func (i *image) output(t *testing.T, args []string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := i.start(t, &out, append(i.entry, args...)...)
	_ = cmd.Wait() // the exit code is returned
	return strings.TrimSpace(out.String()), cmd.ProcessState.ExitCode()
}

// serve runs the default command of the image and calls use with its URL.
func (i *image) serve(t *testing.T, use func(url string)) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := i.start(t, w, append(i.entry, i.command...)...)
	w.Close() // the daemon has a copy, so r ends with the daemon
	lines, log, port := bufio.NewReader(r), "", ""
	for port == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the daemon exited: %v\n%s", cmd.Wait(), log)
		}
		log += line
		if m := listening.FindStringSubmatch(line); m != nil {
			_, port, _ = net.SplitHostPort(strings.TrimPrefix(m[1], "http://"))
		}
	}
	go io.Copy(io.Discard, lines)
	ask := *i
	ask.entry, ask.env = nil, append(ask.env[:len(ask.env):len(ask.env)], "SVC_ADDR=0.0.0.0:"+port)
	if out, code := ask.output(t, i.health); code != exitDone || !strings.HasPrefix(out, "ok 1.2.3 ") {
		t.Errorf("health: exit code %d, %s", code, out)
	}
	use("http://127.0.0.1:" + port)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopping the daemon: %v", err)
	}
	if out, code := ask.output(t, i.health); code != exitDaemon {
		t.Errorf("health without a daemon: exit code %d, %s", code, out)
	}
}

// call sends a request with a token and returns the body of the response.
func call(t *testing.T, token, method, url, contentType, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v\n%s", method, url, res.Status, err, data)
	}
	return string(data)
}
