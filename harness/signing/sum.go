package signing

import (
	"errors"
	"fmt"
	"slices"

	"evalctl/internal/sshsig"
)

// Sum adds up the verifications of several files. The zero value is empty.
type Sum struct {
	// NotChecked names figures that cannot be recomputed from the questions in at least one file.
	NotChecked []string

	files, different, unsigned int
	unreadable                 []error
}

// FailedError means that a file does not match its questions, or has no valid signature.
type FailedError struct{ message string }

func (e *FailedError) Error() string { return e.message }

// Verify verifies a file, and reports whether it is readable.
func (s *Sum) Verify(path string, allowed *sshsig.AllowedKeys) (Verification, bool) {
	s.files++
	found, err := Verify(path, allowed)
	if err != nil {
		s.unreadable = append(s.unreadable, err)
		return found, false
	}
	if !found.OK {
		s.different++
	}
	if signature := found.Signature; signature != nil && !signature.OK {
		s.unsigned++
	}
	for _, what := range found.NotChecked {
		if !slices.Contains(s.NotChecked, what) {
			s.NotChecked = append(s.NotChecked, what)
		}
	}
	return found, true
}

// Err returns the errors of unreadable files, else a *FailedError if a file failed.
func (s *Sum) Err() error {
	filesAre := "1 file is"
	if s.files > 1 {
		filesAre = fmt.Sprintf("%d files are", s.files)
	}
	switch {
	case len(s.unreadable) > 0:
		return errors.Join(s.unreadable...)
	case s.different > 0:
		return &FailedError{fmt.Sprintf("%d of %s not what the questions say", s.different, filesAre)}
	case s.unsigned > 0:
		return &FailedError{fmt.Sprintf("%d of %s without a good signature", s.unsigned, filesAre)}
	}
	return nil
}
