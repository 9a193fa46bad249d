// Command archive packs the programs that scripts/release.sh has built.
//
//	archive VERSION UNIX-TIME FOLDER [URL]
//
// It packs each FOLDER/OS_ARCH into FOLDER/evalctl_VERSION_OS_ARCH.tar.gz, or .zip for Windows, and
// writes the checksums of all files in FOLDER to FOLDER/SHA256SUMS. If URL, the folder in which they
// will be published, is not empty, it also writes FOLDER/evalctl.rb, a formula for Homebrew. Archives
// of the same files, version and time are identical.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 4 && len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: archive VERSION UNIX-TIME FOLDER [URL]")
		os.Exit(2)
	}
	err := pack(os.Args[1], os.Args[2], os.Args[3])
	if err == nil {
		var sums map[string]string
		if sums, err = sum(os.Args[3]); err == nil && len(os.Args) == 5 && os.Args[4] != "" {
			err = writeFormula(os.Args[3], os.Args[1], os.Args[4], sums)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "archive: %v\n", err)
		os.Exit(1)
	}
}

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

func pack(version, unix, folder string) error {
	seconds, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	platforms, err := filepath.Glob(filepath.Join(folder, "*_*", "evalctl*"))
	if err != nil || len(platforms) == 0 {
		return errors.Join(err, fmt.Errorf("no OS_ARCH/evalctl in %s", folder))
	}
	for _, program := range platforms {
		platform := filepath.Base(filepath.Dir(program))
		name := "evalctl_" + version + "_" + platform
		entries, err := read(filepath.Dir(program), name)
		if err != nil {
			return err
		}
		write, file := writeTar, name+".tar.gz"
		if strings.HasPrefix(platform, "windows_") {
			write, file = writeZip, name+".zip"
		}
		var archive bytes.Buffer
		if err := write(&archive, entries, at); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), archive.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sum writes SHA256SUMS and returns the checksum of each file, in hexadecimal digits.
func sum(folder string) (map[string]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	sums := map[string]string{}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		sums[f.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
		fmt.Fprintf(&out, "%s  %s\n", sums[f.Name()], f.Name())
	}
	return sums, os.WriteFile(filepath.Join(folder, "SHA256SUMS"), out.Bytes(), 0o644)
}

// read returns the files of dir, sorted by name, as entries below a folder.
func read(dir, folder string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if strings.HasPrefix(f.Name(), "evalctl") {
			mode = 0o755
		}
		out = append(out, entry{folder + "/" + f.Name(), mode, data})
	}
	return out, nil
}

func writeTar(out *bytes.Buffer, entries []entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), compressed.Close())
}

func writeZip(out *bytes.Buffer, entries []entry, at time.Time) error {
	w := zip.NewWriter(out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}
