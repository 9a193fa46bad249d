package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Undo knows what a commit has done to files so far and takes it back. For that it
// needs no descriptors, which may be what the commit has run out of: a Root opens
// every directory on the way to a file, so Undo names files by their whole paths.
// It MUST only be told of files that a Root has just led to.
type Undo struct {
	Files *Files
	Aside string // absolute; where documents are kept under the number of their operation
	steps []undoStep
}

type undoStep struct {
	path string
	was  string // where the document is kept, empty when there was none
}

// SetAside says that the document was moved out of the way by operation i.
func (u *Undo) SetAside(path string, i int) {
	u.steps = append(u.steps, undoStep{path: path, was: filepath.Join(u.Aside, strconv.Itoa(i))})
}

// Created says that there is a document now, if only a part of it.
func (u *Undo) Created(path string) {
	if n := len(u.steps); n > 0 && u.steps[n-1].path == path {
		return // Run moves what was there over it
	}
	u.steps = append(u.steps, undoStep{path: path})
}

// Run puts every document back and removes the created ones, last one first, with the
// directories that this leaves empty. After an error the rest is not done.
func (u *Undo) Run() error {
	for _, step := range slices.Backward(u.steps) {
		file := filepath.Join(u.Files.Root.Name(), filepath.FromSlash(step.path))
		if step.was == "" {
			if err := os.Remove(file); err != nil && !IsNotFound(NoFile(err)) {
				return err
			}
			u.Files.Prune(FileDir(step.path))
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.Rename(step.was, file); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes what was set aside, once the commit is made.
func (u *Undo) Discard() error {
	var errs []error
	for _, step := range u.steps {
		if step.was != "" {
			errs = append(errs, os.Remove(step.was))
		}
	}
	return errors.Join(errs...)
}
