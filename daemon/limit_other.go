//go:build !unix

package daemon

// fileLimit is how many files the process may have open; 0 when nobody knows.
func fileLimit() uint64 { return 0 }
