package signing

import (
	"errors"
	"fmt"
	"slices"

	"evalctl/internal/sshsig"
)

// Sum adds up what was found about several files. Its zero value has none.
type Sum struct {
	// NotChecked is what does not follow from the questions of one of them.
	NotChecked []string

	files, different, unsigned int
	unreadable                 []error
}

// FailedError means that a file is not what its questions say, or has no good signature.
type FailedError struct{ message string }

func (e *FailedError) Error() string { return e.message }

// Verify verifies a file, and reports whether it can be read.
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

// Err returns the errors of files that cannot be read, else a *FailedError if one failed.
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
