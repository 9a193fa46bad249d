package convert

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNesting bounds the sum of the depths of all tags. It is the work of the parser, which searches
// the open elements at most tags. Pages of 25 MiB have less than half of it.
const maxNesting = 32 << 20

// checkNesting rejects a page with many tags within many open elements.
func checkNesting(ctx context.Context, data []byte) error {
	open := map[atom.Atom]int{}
	depth, sum := 0, 0
	z := html.NewTokenizer(&contextReader{ctx, bytes.NewReader(data)})
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ctx.Err()
		case html.StartTagToken:
			name, _ := z.TagName()
			switch tag := atom.Lookup(name); tag {
			// Elements that have no content, or end at the next of their kind.
			case atom.A, atom.Area, atom.Br, atom.Col, atom.Dd, atom.Dt, atom.Hr, atom.Img, atom.Input, atom.Li, atom.Link,
				atom.Meta, atom.Option, atom.P, atom.Source, atom.Td, atom.Th, atom.Tr, atom.Wbr:
			default:
				open[tag]++
				depth++
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if tag := atom.Lookup(name); open[tag] > 0 {
				open[tag]--
				depth--
			}
		default:
			continue
		}
		// The parser rejects more than 512 levels.
		if sum += min(depth, 512); sum > maxNesting {
			return errors.New("it is nested too deeply for its size")
		}
	}
}
