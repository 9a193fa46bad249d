package main

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/internal/roots"
)

// unconnected lists the commands that connect to nothing.
var unconnected = []string{"completion", "config", "version", "watchdog"}

// trustRoots sets root certificates for commands that may connect to something. The variables that
// package crypto/x509 reads are those of this process.
func trustRoots(kctx *kong.Context) {
	command, _, _ := strings.Cut(kctx.Command(), " ")
	if !slices.Contains(unconnected, command) {
		roots.Trust(os.Getenv)
	}
}
