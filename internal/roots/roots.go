// Package roots has root certificates for systems without any, such as a container image without a
// base image.
package roots

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// bundles are files of root certificates that package crypto/x509 reads on Linux.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"}

// Trust sets root certificates if the system has none of its own. Unlike package fallback, it leaves
// the work of parsing them out of the initialization of the program. env returns the value of an
// environment variable.
func Trust(env func(string) string) {
	if !has(env) {
		setFallback()
	}
}

// has reports whether the system surely has root certificates. Parsing the others takes some
// milliseconds. The files of SSL_CERT_DIR are read in addition to bundles, and SSL_CERT_FILE
// instead of them.
func has(env func(string) string) bool {
	if runtime.GOOS != "linux" || strings.Contains(env("GODEBUG"), "x509usefallbackroots") {
		return false
	}
	if file := env("SSL_CERT_FILE"); file != "" {
		return hasCertificates(file)
	}
	return slices.ContainsFunc(bundles, hasCertificates)
}

// hasCertificates reports whether a file can be read and begins with a certificate, perhaps after
// a comment.
func hasCertificates(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head) // fewer if the file is shorter
	for rest := head[:n]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			return true
		}
	}
}

var setFallback = sync.OnceFunc(func() {
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
