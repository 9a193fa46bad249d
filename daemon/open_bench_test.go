package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkOpen100kSmall is BenchmarkOpen100k with 100,000 documents of one chunk in 100
// directories. The limit reads the directories and the size and time of each file, which
// is the least that shows that the snapshot is up to date.
func BenchmarkOpen100kSmall(b *testing.B) {
	home, n := b.TempDir(), newNotes()
	c, stop := startBench(b, home)
	c.createBrain(b)
	for batch := range 100 {
		texts := make([]string, 1000)
		for i := range texts {
			texts[i] = n.text(100)
		}
		c.batch(b, fmt.Sprintf("b%d", batch), texts)
	}
	c.search(b, "kalo")
	stop()
	c, stop = startBench(b, home) // reads what was written just before the snapshot again
	c.search(b, "kalo")
	stop()
	b.Run("daemon", func(b *testing.B) {
		for b.Loop() {
			c, stop := startBench(b, home)
			c.search(b, "kalo")
			b.StopTimer()
			stop()
			runtime.GC() // a daemon starts with no memory to clean up
			b.StartTimer()
		}
	})
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			if files := statBelow(b, home); files < 100_000 {
				b.Fatalf("%d files", files)
			}
		}
	})
}

// statBelow reads all directories below dir, stats their files and counts them.
func statBelow(b *testing.B, dir string) (files int) {
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	infos, err := f.Readdir(-1)
	if err != nil {
		b.Fatal(err)
	}
	for _, info := range infos {
		if info.IsDir() {
			files += statBelow(b, filepath.Join(dir, info.Name()))
		} else {
			files++
		}
	}
	return files
}
