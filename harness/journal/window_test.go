package journal

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// countedReads counts the reads of a file.
type countedReads struct {
	io.ReaderAt
	n int
}

func (c *countedReads) ReadAt(p []byte, at int64) (int, error) {
	c.n++
	return c.ReaderAt.ReadAt(p, at)
}

// TestWindow compares reads through a window with direct ones.
func TestWindow(t *testing.T) {
	data := make([]byte, 3*windowSize+17)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(data) // never fails
	sizes := []int{0, 1, 100, 5000, windowSize - windowBack, windowSize, 2 * windowSize}
	rapid.Check(t, func(t *rapid.T) {
		w := &windowReader{src: bytes.NewReader(data)}
		for range rapid.IntRange(1, 20).Draw(t, "reads") {
			at := rapid.IntRange(0, len(data)+10).Draw(t, "at")
			p := make([]byte, rapid.SampledFrom(sizes).Draw(t, "size"))
			n, err := w.ReadAt(p, int64(at))
			whole := at+len(p) <= len(data)
			if (err == nil) != whole {
				t.Fatalf("%d bytes at %d of %d: %v", len(p), at, len(data), err)
			}
			if whole && (n != len(p) || !bytes.Equal(p, data[at:at+len(p)])) {
				t.Fatalf("%d bytes at %d differ", len(p), at)
			}
		}
	})
	src := &countedReads{ReaderAt: bytes.NewReader(data)}
	w := &windowReader{src: src}
	for at := range len(data) / 1000 {
		if _, err := w.ReadAt(make([]byte, 1000), int64(at*1000)); err != nil {
			t.Fatal(err)
		}
	}
	if most := len(data)/(windowSize-windowBack-1000) + 1; src.n > most {
		t.Errorf("the file was read %d times, at most %d expected", src.n, most)
	}
}
