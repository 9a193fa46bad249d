package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"evalctl/internal/postgres"
)

// checkDatabaseFlag rejects a connection string with a password in an argument, where other users
// of the machine can read it. variable is where it may be instead. The error does not repeat it.
func checkDatabaseFlag(p *process, flag, variable, conn string) error {
	if !postgres.HasPassword(conn) {
		return nil
	}
	inArguments := slices.ContainsFunc(p.args, func(arg string) bool { return strings.Contains(arg, conn) })
	if !inArguments && p.env(variable) == conn {
		return nil
	}
	return fmt.Errorf("%s contains a password, which other users of this machine can read in the arguments of "+
		"a process: set the URL in %s, or the password in PGPASSWORD or ~/.pgpass", flag, variable)
}

var databaseURL = regexp.MustCompile(`postgres(ql)?://\S+`)

// maskDatabases masks the URLs of databases with a password. A message may repeat an argument that
// is not expected.
func maskDatabases(message string) string {
	return databaseURL.ReplaceAllStringFunc(message, func(url string) string {
		if postgres.HasPassword(url) {
			return "postgres://" + masked
		}
		return url
	})
}
