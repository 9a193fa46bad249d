package main

import (
	"crypto/x509"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unconnected lists the commands that connect to nothing.
var unconnected = []string{"completion", "config", "version", "watchdog"}

// trustRoots sets root certificates for systems that have none, such as a container image without a
// base image. If the system has its own, they are used instead. Unlike package fallback, it leaves
// the work of parsing them out of the initialization of the program.
func trustRoots(kctx *kong.Context) {
	command, _, _ := strings.Cut(kctx.Command(), " ")
	if !slices.Contains(unconnected, command) {
		setFallbackRoots()
	}
}

var setFallbackRoots = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err) // the certificates are part of the program
		}
		pool.AddCertWithConstraint(cert, root.Constraint)
	}
	x509.SetFallbackRoots(pool)
})
