package longtest

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// Parallel lets a package run at least n parallel tests at a time, however few processors there
// are, unless the command line has the number. It is for tests that wait more than they compute,
// and is called in TestMain.
func Parallel(n int) { unlessGiven("test.parallel", max(n, runtime.GOMAXPROCS(0))) }

// Histories sets how many random cases each test with rapid draws, unless the command line has the
// number. It is for cases that take many commits or requests, and is called in TestMain of a
// package that uses rapid.
func Histories(n int) { unlessGiven("rapid.checks", n) }

// CollectRarely makes the garbage collector run a quarter as often as by default, unless the
// environment variable GOGC is set. It is for tests that compute and need little memory. It saves a
// fifth of their processor time, and is called in TestMain.
func CollectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// unlessGiven sets a flag that the command line does not set.
func unlessGiven(name string, n int) {
	given := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		panic(err) // the package does not have the flag
	}
}
