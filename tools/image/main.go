// Command image writes an image of the reference daemon for containers.
//
//	image VERSION UNIX-TIME PROGRAM ARCHITECTURE FILE
//
// The image has one static program and the folders in which it may write, without a base image.
// config.json says how it runs. FILE is a tar archive of an OCI image layout, which also has the
// manifest.json that docker load reads. Archives of the same program, version and time are
// identical.
package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

//go:embed config.json
var configuration []byte

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: image VERSION UNIX-TIME PROGRAM ARCHITECTURE FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func write(version, unix, program, architecture, file string) error {
	seconds, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	image, err := build(program, architecture, at)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // it is temporary
	if err := lay(image, version, folder); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pack(out, folder, at), out.Close())
}

// build returns the image of a program.
func build(program, architecture string, at time.Time) (v1.Image, error) {
	var config v1.Config
	if err := json.Unmarshal(configuration, &config); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	files, err := root(program, config.User, at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	if image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Created: v1.Time{Time: at}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	}); err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "scripts/release.sh"},
	})
}

// root returns the file system of the image: the program, and the folders of its user.
func root(program, user string, at time.Time) ([]byte, error) {
	var uid, gid int
	if _, err := fmt.Sscanf(user, "%d:%d", &uid, &gid); err != nil {
		return nil, fmt.Errorf("config.json: User %q is not UID:GID, and the image has no names of users", user)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []tar.Header{
		{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: uid, Gid: gid},
		{Name: "evalctl", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: uid, Gid: gid},
	} {
		h.ModTime, h.Format = at, tar.FormatUSTAR
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if h.Size > 0 {
			if _, err := w.Write(data); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), w.Close()
}

// lay writes the image as an OCI image layout with two tags, the version and latest, and checks it.
func lay(image v1.Image, version, folder string) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	var tags []string
	for _, tag := range []string{version, "latest"} {
		tags = append(tags, "evalctl:"+tag)
		if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          "docker.io/library/evalctl:" + tag,
			"org.opencontainers.image.ref.name": tag,
		})); err != nil {
			return err
		}
	}
	index, err := path.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return fmt.Errorf("the image cannot be loaded: %w", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	load, err := json.Marshal([]any{map[string]any{
		"Config": blob(manifest.Config.Digest), "RepoTags": tags, "Layers": []string{blob(manifest.Layers[0].Digest)},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "manifest.json"), load, 0o644)
}

// pack writes the files below a folder, sorted by path, as a tar archive.
func pack(out io.Writer, folder string, at time.Time) error {
	w := tar.NewWriter(out)
	if err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}); err != nil {
		return err
	}
	return w.Close()
}
