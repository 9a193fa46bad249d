package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/daemon/client"
	"evalctl/internal/longtest"
)

// blockSize is that of disks and of the blocks of a log: its header, and what follows it, may be in
// several of the first ones.
const (
	blockSize    = 4096
	headerBlocks = 3
	headerBytes  = 64 // of each block
)

// damage is a change to a file.
type damage struct {
	what   string
	change func(data []byte) []byte
}

// damages returns what is done to a file of this size: each byte of a header, whole sectors and
// blocks, and the rest of the file.
func (s *site) damages(size int) (all []damage) {
	step := 1
	switch {
	case !longtest.On():
		step = 16
	case s.cluster != nil: // the header is PostgreSQL's own, and each try starts two servers
		step = 8
	}
	for block := range headerBlocks {
		for i := s.rng.IntN(step); i < headerBytes; i += step {
			at, bit := block*blockSize+i, byte(1)<<s.rng.IntN(8)
			if at < size {
				all = append(all, damage{fmt.Sprintf("byte %d", at), func(data []byte) []byte {
					data[at] ^= bit
					return data
				}})
			}
		}
	}
	random := make([]byte, blockSize)
	for i := range random {
		random[i] = byte(s.rng.IntN(256))
	}
	for _, n := range []int{512, blockSize} {
		all = append(all,
			damage{fmt.Sprintf("the first %d bytes are zero", n), func(data []byte) []byte {
				clear(data[:min(n, len(data))])
				return data
			}},
			damage{fmt.Sprintf("the first %d bytes are random", n), func(data []byte) []byte {
				copy(data, random[:n])
				return data
			}})
	}
	return append(all,
		damage{"empty", func([]byte) []byte { return nil }},
		damage{"cut", func(data []byte) []byte { return data[:len(data)/2] }})
}

// headers returns the files of the first brain that a flipped bit could make a store forget: logs,
// and what names the last commit.
func (s *site) headers() (files []string, err error) {
	patterns := map[string][]string{
		"fs": {filepath.Join(s.brainFolder(0), ".store", "*")},
		"git": {
			filepath.Join(s.documentsFolder(0), ".git", "HEAD"), filepath.Join(s.documentsFolder(0), ".git", "refs", "heads", "*"),
			filepath.Join(s.documentsFolder(0), ".git", "index"), filepath.Join(s.documentsFolder(0), ".git", "gitstore", "*"),
		},
	}[s.store]
	if s.cluster != nil {
		patterns = []string{filepath.Join(s.cluster.Data(), "global", "pg_control")}
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.Mode().IsRegular() || info.Size() == 0
	}), nil
}

// damageHeaders damages each header of a store that has crashed, in every way, each time from the
// same state. The daemon must then show everything, or refuse and say which file is damaged. Another
// brain is not affected.
func damageHeaders(s *site, _ int) error {
	saved := filepath.Join(filepath.Dir(s.folder), filepath.Base(s.folder)+"-saved")
	defer os.RemoveAll(saved)
	if err := run("cp", "-a", s.folder, saved); err != nil {
		return err
	}
	restore := func() error {
		return errors.Join(os.RemoveAll(s.folder), run("cp", "-a", saved, s.folder))
	}
	files, err := s.headers()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the store has no header")
	}
	opened := map[string]int{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(s.folder, file)
		for _, d := range s.damages(len(content)) {
			changed := d.change(slices.Clone(content))
			if string(changed) == string(content) {
				continue
			}
			if err := os.WriteFile(file, changed, 0); err != nil {
				return err
			}
			before := s.broken()
			all, err := s.openDamaged(file)
			s.crash()
			s.variants++
			if all {
				opened[name]++
			}
			if less := s.broken()[len(before):]; len(less) > 0 {
				s.lost, s.losses = s.lost+len(less), s.losses+1
				s.violations = before // one for all of them
				s.violated("%s: %s: it opens without %d of what was acknowledged, such as: %s", name, d.what, len(less), less[0])
			}
			if err != nil {
				s.violated("%s: %s: %v", name, d.what, err)
			}
			if err := restore(); err != nil {
				return err
			}
		}
	}
	s.t.Logf("%d variants, opened with everything: %v", s.variants, opened)
	return nil
}

// openDamaged starts the daemon, and before it the database, and checks every brain that opens. all
// is whether every brain did.
func (s *site) openDamaged(file string) (all bool, err error) {
	if s.cluster != nil {
		if err := s.cluster.Launch(); err != nil {
			return false, named(file, err.Error())
		}
	}
	begun, err := s.daemon.log.Seek(0, 2)
	if err != nil {
		return false, err
	}
	logged := func() string {
		text, _ := os.ReadFile(s.daemon.log.Name())
		return string(text[min(int(begun), len(text)):])
	}
	if err := s.daemon.launch(); err != nil {
		return false, named(file, logged())
	}
	all = true
	for i, brain := range s.brains {
		err := s.checkBrain(context.Background(), s.daemon.URL(), i)
		problem, refused := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
		case !refused || i > 0:
			return false, fmt.Errorf("%s: %w", brain, err)
		default:
			all = false
			if err := named(file, problem.Error()+logged()); err != nil {
				return false, err
			}
		}
	}
	return all, nil
}

// named returns an error unless the text that refuses a damaged file names it. Git's is also known by
// the commit that it names, and PostgreSQL's by what PostgreSQL calls it.
func named(file, text string) error {
	for _, name := range []string{filepath.Base(file), "the commit ", "control file", "database files are incompatible"} {
		if strings.Contains(text, name) {
			return nil
		}
	}
	return fmt.Errorf("the refusal does not name the file: %s", text)
}
