package longtest

import (
	"flag"
	"runtime"
	"strconv"
)

// Parallel lets a package run at least n parallel tests at a time, however few processors there are,
// unless the command line says how many. It is for tests that wait more than they compute, and is
// called in TestMain.
func Parallel(n int) {
	given := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0)))) // a number is valid
	}
}
