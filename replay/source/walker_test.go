package source

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPlainPrefix compares the eight bytes at a time with one.
func TestPlainPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte("abc !~\x7f\x80\xff\x1f\x00[]\\\"")), 0, 40).Draw(t, "bytes")
		want := 0
		for want < len(b) && b[want] >= ' ' && b[want] < 0x80 && b[want] != '\\' {
			want++
		}
		if got := plainPrefix(b); got != want {
			t.Fatalf("%q: got %d, want %d", b, got, want)
		}
	})
}
