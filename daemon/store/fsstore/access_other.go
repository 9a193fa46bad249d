//go:build !unix

package fsstore

// mayWrite reports whether files in a folder can be created and removed, as far as the system
// tells.
func mayWrite(string) error { return nil }
