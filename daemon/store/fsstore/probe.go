package fsstore

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/store"
)

// samples are characters beyond ASCII. Some file systems have no place for the last one.
const samples = "éж日😀"

// specials returns the ASCII characters that some file systems do not take.
func specials() string {
	text := `:*?"<>|`
	for c := range ' ' {
		text += string(c)
	}
	return strings.TrimLeft(text, "\x00") + "\x7f"
}

// prober finds out which names a file system accepts, by creating files in a folder of their own.
type prober struct {
	disk  disk
	files *store.Files
}

// probe finds out which names the folder of the documents accepts. It fails if it accepts none at
// present, as on a full disk.
func (b *backend) probe() (store.Folder, error) {
	p := prober{b.disk, &b.files}
	if err := p.clean(); err != nil { // what a crash has left
		return store.Folder{}, err
	}
	folder, err := p.try()
	return folder, errors.Join(err, p.clean())
}

func (p prober) try() (f store.Folder, err error) {
	if err := p.create("lower"); err != nil {
		return f, err
	}
	// On most file systems, these few files show all.
	everything := []string{"A" + specials() + " ", samples + ".", "con", strings.Repeat("n", store.MaxSegmentBytes)}
	if !p.take(everything...) {
		f = p.oneByOne()
	}
	f.Folds = p.exists("LOWER") || !f.ASCII && p.take("é") && p.exists(norm.NFD.String("é"))
	return f, nil
}

// oneByOne tries each character.
func (p prober) oneByOne() (f store.Folder) {
	for _, c := range samples {
		f.ASCII = f.ASCII || c != 'é' && !p.take(string(c))
	}
	f.Normalizes = !f.ASCII && !p.take("é")
	if !p.take("xAx") { // it has names in lower case only
		f.Refused, f.ASCII = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", true
	}
	for _, c := range specials() {
		if !p.take("x" + string(c) + "x") {
			f.Refused += string(c)
		}
	}
	for _, c := range ". " {
		if !p.take("x" + string(c)) {
			f.Ends += string(c)
		}
	}
	f.Devices = !p.take("con", "nul.md")
	if !p.take(strings.Repeat("n", store.MaxSegmentBytes)) {
		f.Longest = 1
		for f.Longest < 128 && p.take(strings.Repeat("n", 2*f.Longest)) {
			f.Longest *= 2
		}
	}
	return f
}

// take reports whether there are files of exactly these names once they were created.
func (p prober) take(names ...string) bool {
	for _, name := range names {
		if p.create(name) != nil {
			return false
		}
	}
	there, err := p.names()
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(there, name) })
}

func (p prober) dir() string { return path.Join(documentsDir, store.ProbeName()) }

func (p prober) names() ([]string, error) {
	return store.ReadNames(p.files.Root, store.ProbeName()+"/")
}

func (p prober) create(name string) error {
	return p.disk.create(path.Join(p.dir(), name), nil, time.Now())
}

func (p prober) exists(name string) bool {
	_, err := p.disk.lstat(path.Join(p.dir(), name))
	return err == nil
}

// clean removes the files and the folder.
func (p prober) clean() error {
	names, err := p.names()
	if store.IsNotFound(store.NoFile(err)) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, p.disk.remove(path.Join(p.dir(), name)))
	}
	p.disk.prune(store.ProbeName())
	return err
}
