package brain

import (
	"context"
	"errors"
	"testing"

	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

// toldEmbedder tells what it embeds.
type toldEmbedder struct {
	llm.FakeEmbedder
	texts chan string
	err   error
}

func (e *toldEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, t := range texts {
		select {
		case e.texts <- t:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.FakeEmbedder.Embed(ctx, texts)
}

// As soon as a brain has an index, its documents are embedded as they are
// written, and a failure ends nothing. Closing does not wait for the embedder.
func TestDocumentsAreEmbeddedInTheBackground(t *testing.T) {
	for name, err := range map[string]error{"well": nil, "failing": errors.New("out of order")} {
		t.Run(name, func(t *testing.T) {
			e := &toldEmbedder{texts: make(chan string), err: err}
			s := open(t, func(c *Config) { c.Search = search.Config{Embedder: e} })
			create(t, s, "eval")
			put(t, s, "eval", "a.md", "walrus")
			x, err := use(t, s, "eval").indexer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := x.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-e.texts; got != "a\nwalrus" {
				t.Errorf("embedded %q", got)
			}
			put(t, s, "eval", "b.md", "otter")
			for got := ""; got != "b\notter"; got = <-e.texts {
			}
			put(t, s, "eval", "c.md", "seal") // nobody listens any more
		})
	}
}
