// Package chain links the lines of a file that only grows. Each line is a JSON object, and begins
// with a digest of itself and of all lines before it: a line that was changed, removed, inserted or
// moved does not continue the chain. Lines cut off at the end, as by a kill, are not noticed. Links
// have no key, so they show damage and careless edits, but not who wrote a line.
package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

const (
	prefix = `{"chain":"`
	suffix = `",`
	size   = 16                                     // bytes of a digest
	length = len(prefix) + 2*size + len(suffix) - 1 // added to a line
)

// ErrBroken means that a line does not continue the chain.
var ErrBroken = errors.New("it does not continue the lines before it: a line was changed, removed, inserted or moved")

// Chain is the state after a line. The zero value is the state before the first one. It is a value:
// a caller that could not write a line goes on with the state before.
type Chain struct {
	sum   [size]byte
	begun bool
	plain bool
}

// Plain reports whether the lines have no links, as an older version wrote them.
func (c Chain) Plain() bool { return c.plain }

// Link appends a line to out with its link, and returns the state after it. line is a JSON object
// with a key, and may end with a line feed. Lines of a plain chain get no links.
func (c Chain) Link(out, line []byte) ([]byte, Chain) {
	if c.plain {
		return append(out, line...), c
	}
	next := c.after(line[1:])
	out = append(out, prefix...)
	out = hex.AppendEncode(out, next.sum[:])
	out = append(out, suffix...)
	return append(out, line[1:]...), next
}

// Check returns the state after a line that was read, or ErrBroken.
func (c Chain) Check(line []byte) (Chain, error) {
	linked := len(line) > length && bytes.HasPrefix(line, []byte(prefix))
	if !c.begun && !linked {
		return Chain{begun: true, plain: true}, nil
	}
	if linked == c.plain {
		return c, ErrBroken
	}
	if c.plain {
		return c, nil
	}
	next := c.after(line[length+1:])
	var want [2 * size]byte
	hex.Encode(want[:], next.sum[:])
	if !bytes.Equal(line[len(prefix):len(prefix)+len(want)], want[:]) || !bytes.HasPrefix(line[len(prefix)+len(want):], []byte(suffix)) {
		return c, ErrBroken
	}
	return next, nil
}

// after returns the state after a line whose brace and link are left out.
func (c Chain) after(rest []byte) Chain {
	h := sha256.New()
	h.Write(c.sum[:])
	h.Write(bytes.TrimSuffix(rest, []byte("\n")))
	next := Chain{begun: true}
	copy(next.sum[:], h.Sum(nil))
	return next
}
