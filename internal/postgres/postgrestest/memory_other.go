//go:build !linux

package postgrestest

func memory() string { return "" }
