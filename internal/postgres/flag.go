package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckFlag rejects a connection string, the value of a flag, with a password in the arguments of
// the process, where other users of the machine can read it. variable is where it may be instead.
// The error does not repeat it.
func CheckFlag(conn, flag, variable string, args []string, env func(string) string) error {
	if !HasPassword(conn) {
		return nil
	}
	inArguments := slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, conn) })
	if !inArguments && env(variable) == conn {
		return nil
	}
	return fmt.Errorf("%s contains a password, which other users of this machine can read in the arguments of "+
		"a process: set the URL in %s, or the password in PGPASSWORD or ~/.pgpass", flag, variable)
}

var databaseURL = regexp.MustCompile(`postgres(ql)?://\S+`)

// Mask masks the passwords in URLs of databases. A message may repeat an unexpected argument.
func Mask(message string) string {
	return databaseURL.ReplaceAllStringFunc(message, func(url string) string {
		if HasPassword(url) {
			return "postgres://****"
		}
		return url
	})
}
