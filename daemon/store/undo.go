package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Undo records the changes that a commit makes to files, and can roll them back.
//
// It uses absolute paths and needs no file descriptors, because the commit may have failed for lack
// of them: a Root opens every directory on the way to a file. It MUST only be given paths that were
// just reached through a Root, which rejects links out of the store.
type Undo struct {
	Files *Files
	// BackupDir is an absolute path. A document that operation i replaces or deletes is moved to
	// the file i in it.
	BackupDir string
	steps     []undoStep
}

type undoStep struct {
	path   string
	backup string // file that the document was moved to; empty if there was no document
}

// BackedUp records that operation i has moved the document to its file in BackupDir.
func (u *Undo) BackedUp(path string, i int) {
	backup := filepath.Join(u.BackupDir, strconv.Itoa(i))
	u.steps = append(u.steps, undoStep{path: path, backup: backup})
}

// Created records that there is a document now, even if it is incomplete.
func (u *Undo) Created(path string) {
	if n := len(u.steps); n > 0 && u.steps[n-1].path == path {
		return // Run replaces it with the backup
	}
	u.steps = append(u.steps, undoStep{path: path})
}

// Run restores the backups and removes the created documents, in reverse order, together with
// directories that become empty. It stops at the first error.
func (u *Undo) Run() error {
	for _, step := range slices.Backward(u.steps) {
		file := filepath.Join(u.Files.Root.Name(), filepath.FromSlash(step.path))
		if step.backup == "" {
			if err := os.Remove(file); err != nil && !IsNotFound(NoFile(err)) {
				return err
			}
			u.Files.Prune(FileDir(step.path))
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.Rename(step.backup, file); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes the backups after the commit has succeeded.
func (u *Undo) Discard() error {
	var errs []error
	for _, step := range u.steps {
		if step.backup != "" {
			errs = append(errs, os.Remove(step.backup))
		}
	}
	return errors.Join(errs...)
}
