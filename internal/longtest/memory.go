package longtest

import (
	"flag"
	"os"
)

// TempInMemory puts the temporary files of tests, and of the programs that they start, in memory,
// unless TMPDIR is set or benchmarks run. There, making and syncing files takes no disk. It is for
// tests that are not about the disk, and is called in TestMain.
func TempInMemory() {
	flag.Parse()
	dir := MemoryDir()
	if dir == "" || os.Getenv("TMPDIR") != "" || flag.Lookup("test.bench").Value.String() != "" {
		return
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err) // dir has a zero byte
	}
}
