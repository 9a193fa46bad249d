//go:build !unix

package daemon

// fileLimit returns how many files the process may have open; 0 when unknown.
func fileLimit() uint64 { return 0 }
