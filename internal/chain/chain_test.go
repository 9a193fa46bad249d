package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// linked returns n lines of a chain.
func linked(n int) [][]byte {
	var lines [][]byte
	var c Chain
	for i := range n {
		var line []byte
		line, c = c.Link(nil, fmt.Appendf(nil, `{"kind":"k","n":%d,"text":"a line"}`+"\n", i))
		lines = append(lines, line)
	}
	return lines
}

// check returns the number of lines that are accepted.
func check(lines [][]byte) (accepted int, c Chain, err error) {
	for i, line := range lines {
		if c, err = c.Check(line); err != nil {
			return i, c, err
		}
	}
	return len(lines), c, nil
}

func TestChain(t *testing.T) {
	lines := linked(5)
	for _, line := range lines {
		if v := map[string]any{}; json.Unmarshal(line, &v) != nil || v["kind"] != "k" || len(v["chain"].(string)) != 2*size {
			t.Fatalf("%s", line)
		}
	}
	if n, c, err := check(lines); err != nil || c.Plain() {
		t.Fatal(n, err)
	}
	if n, _, err := check(lines[:3]); err != nil { // the end is missing
		t.Fatal(n, err)
	}
	for name, changed := range map[string][][]byte{
		"removed":       slices.Delete(slices.Clone(lines), 2, 3),
		"first removed": lines[1:],
		"inserted":      slices.Insert(slices.Clone(lines), 2, lines[1]),
		"moved":         {lines[0], lines[2], lines[1], lines[3], lines[4]},
		"unlinked":      {lines[0], lines[1], []byte(`{"kind":"k"}` + "\n")},
		"of another":    {lines[0], lines[1], linkedOther()},
	} {
		if n, _, err := check(changed); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %d lines accepted, %v", name, n, err)
		}
	}
}

func linkedOther() []byte {
	line, _ := Chain{begun: true}.Link(nil, []byte(`{"kind":"k"}`+"\n"))
	return line
}

// TestPlain: the file of an older version has no links, and gets none.
func TestPlain(t *testing.T) {
	first := []byte(`{"kind":"run"}` + "\n")
	c, err := Chain{}.Check(first)
	if err != nil || !c.Plain() {
		t.Fatal(err)
	}
	if line, next := c.Link(nil, first); !bytes.Equal(line, first) || next != c {
		t.Errorf("linked: %s", line)
	}
	if c, err := c.Check(first); err != nil || !c.Plain() {
		t.Error(err)
	}
	if _, err := c.Check(linked(1)[0]); !errors.Is(err, ErrBroken) {
		t.Errorf("a linked line in a plain file: %v", err)
	}
}

// TestEveryByte: no byte of a line but the last line feed can be changed.
func TestEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := linked(4)
		i := rapid.IntRange(0, 3).Draw(t, "line")
		line := bytes.Clone(lines[i])
		at := rapid.IntRange(0, len(line)-2).Draw(t, "byte")
		line[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		lines[i] = line
		n, c, err := check(lines)
		if err == nil && !c.Plain() || n > i && !c.Plain() {
			t.Fatalf("%d lines accepted: %s", n, line)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"kind":"run"}`))
	f.Add(linked(1)[0])
	f.Fuzz(func(t *testing.T, line []byte) {
		if c, err := (Chain{}).Check(line); err == nil && !c.Plain() {
			again, next := Chain{}.Link(nil, append([]byte("{"), line[length+1:]...))
			if !bytes.Equal(again, line) || next != c {
				t.Errorf("accepted %q", line)
			}
		}
	})
}

func BenchmarkLink(b *testing.B) {
	line := append(bytes.Repeat([]byte(" "), 5000), "}\n"...)
	line[0] = '{'
	var c Chain
	var out []byte
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		out, c = c.Link(out[:0], line)
	}
}
