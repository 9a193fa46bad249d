//go:build !linux

package longtest

// MemoryDir returns "": no folder is known to be in memory.
func MemoryDir() string { return "" }
