package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

// testImage unpacks the image of a release into a folder and runs its daemon there, with the folder
// as the root of the file system and as the user of the image. Nothing else is mounted, not even
// /proc.
func testImage(t *testing.T, archive string) {
	for _, store := range []string{"fs", "git"} {
		t.Run(store, func(t *testing.T) {
			img := loadImage(t, archive)
			img.env = append(img.env, "SVC_STORE="+store, "SVC_ADDR=0.0.0.0:0")
			if out, code := img.output(t, img.command); code != exitUsage || !strings.Contains(out, "keys.yaml: no such file") {
				t.Fatalf("without keys: exit code %d, %s", code, out)
			}
			token, code := img.output(t, strings.Fields("serve keys create --file /data/keys.yaml --name ci --tenant acme --role writer"))
			if code != exitDone {
				t.Fatalf("serve keys create: exit code %d, %s", code, token)
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

// ociConfig is what a container runtime reads in the configuration of an image.
type ociConfig struct {
	User, WorkingDir     string
	Env, Entrypoint, Cmd []string
	Healthcheck          struct{ Test []string }
}

// ociBlob is a reference to a file of an image layout.
type ociBlob struct{ MediaType, Digest string }

// loadImage reads an archive with an OCI image layout, as a container runtime does.
func loadImage(t *testing.T, archive string) *image {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	untar(t, f, func(h *tar.Header, data []byte) { files[h.Name] = data })
	blob := func(b ociBlob, mediaType string) []byte {
		t.Helper()
		data := files["blobs/"+strings.Replace(b.Digest, ":", "/", 1)]
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != b.Digest || b.MediaType != mediaType {
			t.Fatalf("%s %s has the digest %s, want a %s", b.MediaType, b.Digest, got, mediaType)
		}
		return data
	}
	var index struct{ Manifests []ociBlob }
	decodeInto(t, files["index.json"], &index)
	if len(index.Manifests) != 2 || index.Manifests[0] != index.Manifests[1] {
		t.Fatalf("the index has %+v, want one image with two tags", index.Manifests)
	}
	var manifest struct {
		Config ociBlob
		Layers []ociBlob
	}
	decodeInto(t, blob(index.Manifests[0], "application/vnd.oci.image.manifest.v1+json"), &manifest)
	var config struct{ Config ociConfig }
	decodeInto(t, blob(manifest.Config, "application/vnd.oci.image.config.v1+json"), &config)
	var docker []struct{ Config string }
	decodeInto(t, files["manifest.json"], &docker)
	if want := "blobs/" + strings.Replace(manifest.Config.Digest, ":", "/", 1); len(docker) != 1 || docker[0].Config != want {
		t.Errorf("manifest.json has %+v, want the configuration %s", docker, want)
	}
	c := config.Config
	img := &image{root: t.TempDir(), env: c.Env, dir: c.WorkingDir, entry: c.Entrypoint, command: c.Cmd}
	if img.uid, img.gid = ids(t, c.User); img.uid == 0 || len(c.Healthcheck.Test) < 2 {
		t.Fatalf("the image runs as uid %d with health check %q", img.uid, c.Healthcheck.Test)
	}
	img.health = c.Healthcheck.Test[1:]
	if err := os.Chmod(img.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, l := range manifest.Layers {
		compressed, err := gzip.NewReader(bytes.NewReader(blob(l, "application/vnd.oci.image.layer.v1.tar+gzip")))
		if err != nil {
			t.Fatal(err)
		}
		untar(t, compressed, func(h *tar.Header, data []byte) { img.unpack(t, h, data) })
	}
	return img
}

func decodeInto(t *testing.T, data []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

func untar(t *testing.T, archive io.Reader, each func(h *tar.Header, data []byte)) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		each(h, data)
	}
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

// unpack writes a file or makes a folder of a layer.
func (i *image) unpack(t *testing.T, h *tar.Header, data []byte) {
	t.Helper()
	name := filepath.Join(i.root, h.Name)
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = os.Mkdir(name, h.FileInfo().Mode())
	case tar.TypeReg:
		err = os.WriteFile(name, data, h.FileInfo().Mode())
	default:
		t.Fatalf("%s is neither a file nor a folder", h.Name)
	}
	if err == nil && os.Getuid() == 0 { // else the user of the image is mapped to the user of this test
		err = os.Chown(name, h.Uid, h.Gid)
	}
	if err != nil {
		t.Fatal(err)
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
	if out, code := ask.output(t, i.health); code != exitDone || !strings.HasPrefix(out, "ok "+ciVersion+" ") {
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
