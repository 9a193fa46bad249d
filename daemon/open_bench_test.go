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

// BenchmarkFirstSearch starts a daemon with a brain of 200,000 documents of 60 words and waits for its
// first answer: from the snapshot, and without it from the documents. The limit is that of
// BenchmarkOpen100kSmall.
func BenchmarkFirstSearch(b *testing.B) {
	home, n := b.TempDir(), newNotes()
	c, stop := startBench(b, home)
	c.createBrain(b)
	for batch := range 200 {
		texts := make([]string, 1000)
		for i := range texts {
			texts[i] = n.text(60)
		}
		c.batch(b, fmt.Sprintf("b%d", batch), texts)
	}
	c.search(b, "kalo")
	stop()
	open := func(b *testing.B) {
		c, stop := startBench(b, home)
		c.search(b, "kalo")
		b.StopTimer()
		stop()
		runtime.GC()
		b.StartTimer()
	}
	open(b) // reads what was written just before the snapshot again
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			open(b)
		}
	})
	b.Run("documents", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			snapshots, err := filepath.Glob(filepath.Join(home, "brains", "*", "index.snapshot"))
			if err != nil || len(snapshots) != 1 {
				b.Fatalf("snapshots %q, %v", snapshots, err)
			}
			if err := os.Remove(snapshots[0]); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			open(b)
		}
	})
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			if files := statBelow(b, home); files < 200_000 {
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
