package requirements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
)

// askStream is an ask stream that was read to its end.
type askStream struct {
	*stream
	frames []frame
}

// askOf asks a question with the keys of all dialects. more adds fields.
func askOf(text string, more object) request {
	fields := object{"question": text, "query": text}
	maps.Copy(fields, more)
	return brainRequest("POST", "/ask").withJSON(fields)
}

// expectAskOfNotes is expectAsk in a brain with notes.
func expectAskOfNotes(r request, judge func(*askStream) error) []step {
	return []step{putNotes, expectAsk(r, judge)}
}

// expectAsk asks a question, reads the stream to its end and judges it.
func expectAsk(r request, judge func(*askStream) error) step {
	return withStream(r, func(ctx context.Context, c *client, open *stream) error {
		if err := open.verifyOpen(); err != nil {
			return err
		}
		s := &askStream{stream: open}
		for {
			f, err := s.next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			s.frames = append(s.frames, f)
		}
		x := s.with(s.frames)
		c.remember(x)
		if err := judge(s); err != nil {
			return x.about(against(fmt.Errorf("%s: %w", s.request, err)))
		}
		return nil
	})
}

func (s *askStream) eventNames() []string {
	var list []string
	for _, f := range s.frames {
		list = append(list, f.name)
	}
	return list
}

// payloads returns the payloads of all events with a name.
func (s *askStream) payloads(name string) ([]object, error) {
	var list []object
	for _, f := range s.frames {
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

// requirePayloads returns the payloads of a required event. If the event is missing and the stream
// has an error event, the check is not judged, because the daemon's model failed. Otherwise the
// missing event is left to another check.
func (s *askStream) requirePayloads(name string) ([]object, error) {
	list, err := s.payloads(name)
	if err == nil && len(list) == 0 {
		if err = s.errorEvent(); err == nil {
			err = s.missing(name)
		}
	}
	return list, err
}

// missing returns the error for a stream without an event.
func (s *askStream) missing(name string) error {
	err := because("has no event "+name, "want the event %s, got %q", name, s.eventNames())
	switch {
	case name == protocol.EventRetrieve:
		return elsewhere("ask-retrieve", err)
	case name == protocol.EventDone && !slices.ContainsFunc(s.eventNames(), isEnd):
		return s.endless()
	case name == protocol.EventDelta && s.unknownEvent() != "":
		return elsewhere("ask-known-events", err)
	case name == protocol.EventDelta:
		return elsewhere("ask-answers", err)
	}
	return err
}

// unknownEvent returns the first event that does not belong in an ask stream, or "".
func (s *askStream) unknownEvent() string {
	for _, name := range s.eventNames() {
		if !slices.Contains(askEvents, name) {
			return name
		}
	}
	return ""
}

// requireDeltas returns an error if the answer may be in events with another name.
func (s *askStream) requireDeltas() error {
	if s.unknownEvent() != "" && !slices.Contains(s.eventNames(), protocol.EventDelta) {
		return s.missing(protocol.EventDelta)
	}
	return nil
}

// errorEvent returns an error without a verdict if the stream has an error event.
func (s *askStream) errorEvent() error {
	for _, f := range s.frames {
		if f.name == protocol.EventError {
			return optional("an answer: the daemon sent an error event: " + f.data)
		}
	}
	return nil
}

// answer joins the deltas. It ignores malformed ones, which other checks judge.
func (s *askStream) answer() string {
	var b strings.Builder
	var pieces jsonobj.Pieces
	for _, f := range s.frames {
		if f.name != protocol.EventDelta {
			continue
		}
		o, _ := jsonobj.Parse([]byte(f.data))
		b.WriteString(pieces.Next(o.First("delta")))
	}
	return b.String() + pieces.Rest()
}

// payloadField matches a field in all events with a name, and requires at least one.
func payloadField(event, name string, m matcher) func(*askStream) error {
	return func(s *askStream) error {
		list, err := s.requirePayloads(event)
		if err != nil {
			return err
		}
		if err := each(list, hasField(name, m)); err != nil {
			return fmt.Errorf("event %s: %w", event, err)
		}
		return nil
	}
}

// eachRetrieved judges the chunks of the first retrieve event, and requires at least one.
func eachRetrieved(judge func(object) error) func(*askStream) error {
	return func(s *askStream) error {
		chunks, err := s.retrievedChunks()
		if err != nil {
			return err
		}
		return each(chunks, judge)
	}
}

// hasRetrieved requires a retrieved chunk.
func hasRetrieved(s *askStream) error {
	_, err := s.retrievedChunks()
	return err
}

// retrievedChunks returns the chunks of the first retrieve event, and requires at least one.
func (s *askStream) retrievedChunks() ([]object, error) {
	events, err := s.requirePayloads(protocol.EventRetrieve)
	if err != nil {
		return nil, err
	}
	list, _ := events[0]["chunks"].([]any)
	chunks, err := objects(list)
	if err == nil && len(chunks) == 0 {
		err = fmt.Errorf("want a retrieved chunk, got %s", excerpt(encode(events[0])))
	}
	return chunks, err
}

var askEvents = []string{
	protocol.EventRetrieve, protocol.EventDelta, protocol.EventCitation, protocol.EventDone, protocol.EventError,
}

func isEnd(event string) bool { return event == protocol.EventDone || event == protocol.EventError }

// ends returns the number of events that end a stream.
func (s *askStream) ends() int {
	return len(slices.DeleteFunc(s.eventNames(), func(name string) bool { return !isEnd(name) }))
}

// endless returns the error for a stream that has neither done nor error.
func (s *askStream) endless() error {
	return elsewhere("ask-ends", because("has neither done nor error", "want done or error at the end, got %q", s.eventNames()))
}
