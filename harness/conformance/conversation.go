package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"evalctl/daemon/protocol"
)

// conversation is a whole ask stream.
type conversation struct {
	*stream
	frames []frame
}

// asks sends a question in the words of every dialect, besides more keys.
func asks(text string, more object) request {
	fields := object{"question": text, "query": text}
	for name, v := range more {
		fields[name] = v
	}
	return at("POST", "/ask").json(fields)
}

// talks asks in a brain with notes and judges the stream, which is read to its
// end.
func talks(r request, judge func(*conversation) error) []step {
	return []step{notes, answered(r, judge)}
}

func answered(r request, judge func(*conversation) error) step {
	return func(ctx context.Context, t *trial) error {
		s, err := t.attach(ctx, r)
		if err != nil {
			return err
		}
		defer s.close()
		c := &conversation{stream: s}
		for {
			f, err := s.next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			c.frames = append(c.frames, f)
		}
		if err := judge(c); err != nil {
			return fmt.Errorf("%s: %w", s.line, err)
		}
		return nil
	}
}

func (c *conversation) names() []string {
	var list []string
	for _, f := range c.frames {
		list = append(list, f.name)
	}
	return list
}

// all gives the payloads of one event.
func (c *conversation) all(name string) ([]object, error) {
	var list []object
	for _, f := range c.frames {
		if f.name == name {
			o, err := f.object()
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
	}
	return list, nil
}

// some gives the payloads of an event that the stream should have. A daemon
// whose model failed, and said so, is not judged by what is missing.
func (c *conversation) some(name string) ([]object, error) {
	list, err := c.all(name)
	if err == nil && len(list) == 0 {
		if err = c.failed(); err == nil {
			err = fmt.Errorf("want the event %s, got %q", name, c.names())
		}
	}
	return list, err
}

func (c *conversation) failed() error {
	for _, f := range c.frames {
		if f.name == protocol.EventError {
			return notJudged{"the daemon answered with an error event: " + f.data}
		}
	}
	return nil
}

// answer puts the deltas together.
func (c *conversation) answer() string {
	var b strings.Builder
	deltas, _ := c.all(protocol.EventDelta) // another check judges their form
	for _, d := range deltas {
		text, _ := d["delta"].(string)
		b.WriteString(text)
	}
	return b.String()
}

// payload judges a value of every event of a kind that the stream should have.
func payload(event, name string, v value) func(*conversation) error {
	return func(c *conversation) error {
		list, err := c.some(event)
		if err != nil {
			return err
		}
		for _, o := range list {
			if err := judgeKey(o, name, v); err != nil {
				return fmt.Errorf("event %s: %w", event, err)
			}
		}
		return nil
	}
}

// retrieved gives the chunks of the stream, of which there should be one.
func (c *conversation) retrieved() ([]object, error) {
	events, err := c.some(protocol.EventRetrieve)
	if err != nil {
		return nil, err
	}
	var chunks []object
	list, _ := events[0]["chunks"].([]any)
	for _, item := range list {
		o, ok := item.(object)
		if !ok {
			return nil, fmt.Errorf("want every chunk to be an object, got %s", clip(encode(item)))
		}
		chunks = append(chunks, o)
	}
	if len(chunks) == 0 {
		return nil, fmt.Errorf("want a retrieved chunk, got %s", clip(encode(events[0])))
	}
	return chunks, nil
}
