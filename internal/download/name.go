package download

import (
	"errors"
	"net/url"
	"path"
	"regexp"
)

// plainName matches names that are safe as the name of a file, up to maxName bytes. The length is
// not part of the expression, because compiling a repetition of 200 slows the start of the program.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 200

// FileName returns the name of the file at a URL. The name is safe to use in a folder. The error
// does not repeat the URL.
func FileName(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return "", err
	}
	if name := path.Base(u.Path); len(name) <= maxName && plainName.MatchString(name) {
		return name, nil
	}
	return "", errors.New("its path must end in the name of a file of letters, digits, . _ and -")
}
