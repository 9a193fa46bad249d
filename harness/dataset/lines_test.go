package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLineEnds checks that lines may end with LF, CR LF or CR, and where they are.
func TestLineEnds(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"{\"a\":1}\n{\"b\":2}\n", []string{"1@0 {\"a\":1}", "2@8 {\"b\":2}"}},
		{"{\"a\":1}\r\n\r\n{\"b\":2}", []string{"1@0 {\"a\":1}", "3@11 {\"b\":2}"}},
		{"{\"a\":1}\r{\"b\":2}\r", []string{"1@0 {\"a\":1}", "2@8 {\"b\":2}"}},
		{"\ufeff# x\r\r {\"b\":2}\r\n3", []string{"3@9 {\"b\":2}", "4@18 3"}},
		{"\r", nil},
	} {
		for _, r := range []*strings.Reader{strings.NewReader(c.text)} {
			var got []string
			for line, err := range readLines(iotest.OneByteReader(r), "f") {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d@%d %s", line.number, line.at, line.text))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q: %q, want %q", c.text, got, c.want)
			}
		}
	}
}
