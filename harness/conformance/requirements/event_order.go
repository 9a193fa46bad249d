package requirements

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// eventReport has the events caused by steps, and the expected ones.
type eventReport struct {
	want, got  []string
	stragglers int   // the last of got, which came after the event of a later change
	silence    error // errSilence if the event of a later change did not come at all
	seen       *exchange
	request    string
}

// reportEvents runs steps while listening to the change stream, and judges the events they cause.
// Events of an unknown kind are left to another check.
func reportEvents(during []step, want []string, judge func(eventReport) error) step {
	return withReadyStream(eventsRequest, func(ctx context.Context, c *client, s *stream) error {
		frames, err := s.collect(ctx, c, during...)
		if err != nil && !errors.Is(err, errSilence) {
			return err
		}
		h := eventReport{want: want, silence: err, request: s.request}
		if err == nil {
			frames, h.stragglers = s.stragglers(ctx, frames, want)
		}
		h.got, h.seen = summaries(frames), s.with(frames)
		if err := h.unknownKind(frames); err != nil {
			return err
		}
		return judge(h)
	})
}

// stragglers adds expected events that arrive after a later change's event.
func (s *stream) stragglers(ctx context.Context, frames []frame, want []string) (all []frame, n int) {
	for isPart(summaries(frames), want) && len(frames) < len(want) {
		f, err := s.nextWithin(ctx, s.patience(straggling))
		if err != nil {
			break
		}
		if f.name != protocol.EventPing {
			frames = append(frames, f)
			n++
		}
	}
	return frames, n
}

// isPart reports whether all contains the elements of part, in any order.
func isPart(part, all []string) bool {
	left := slices.Clone(all)
	for _, s := range part {
		i := slices.Index(left, s)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func (h eventReport) isEqual() bool {
	return h.silence == nil && h.stragglers == 0 && slices.Equal(h.want, h.got)
}

// isReordered reports whether the events are the wanted ones, and only their order is wrong.
func (h eventReport) isReordered() bool {
	return h.silence == nil && len(h.got) == len(h.want) && isPart(h.got, h.want) && !h.isEqual()
}

// differs returns the error for unexpected events.
func (h eventReport) differs() error {
	text := fmt.Sprintf("%s: want the events %q, got %q", h.request, h.want, h.got)
	if h.stragglers > 0 {
		text += fmt.Sprintf(", the last %d of them after the event of a later change", h.stragglers)
	}
	switch {
	case h.isReordered():
		return h.seen.about(asCause("events are not sent in the order of the changes", "%s", text))
	case h.silence != nil:
		return h.seen.about(because("lacks events", "%w", h.silence))
	}
	return h.seen.about(because(wrongEvents(h.want, h.got), "%s", text))
}

var kinds = []string{"created", "updated", "deleted", "renamed"}

// isKnownKind requires an event to have one of the kinds.
func isKnownKind(o object) error {
	if kind, _ := o["kind"].(string); !slices.Contains(kinds, kind) {
		return asCause("events have another kind than created, updated, deleted and renamed",
			"want the kind created, updated, deleted or renamed, got %s", excerpt(encode(o)))
	}
	return nil
}

func (h eventReport) unknownKind(frames []frame) error {
	for _, f := range frames {
		o, err := f.object()
		if f.name != protocol.EventChange || err != nil {
			continue
		}
		if err := isKnownKind(o); err != nil {
			return elsewhere("events-kinds", h.seen.about(err))
		}
	}
	return nil
}

// expectEvents requires the steps to cause exactly these events. Their order is left to another
// check.
func expectEvents(during []step, want ...string) step {
	return reportEvents(during, want, func(h eventReport) error {
		if h.isReordered() {
			return elsewhere("events-commit-order", h.differs())
		}
		return h.verdict()
	})
}

// expectEventsInOrder is expectEvents for a check that is about the order too.
func expectEventsInOrder(during []step, want ...string) step {
	return reportEvents(during, want, eventReport.verdict)
}

func (h eventReport) verdict() error {
	switch {
	case h.isEqual():
		return nil
	case h.silence != nil && isSubsequence(h.want, h.got):
		return h.silence
	}
	return contradiction{h.differs()}
}

// expectEventsBut is for a check of one particular way in which events can be wrong. Other
// differences leave the check not judged.
func expectEventsBut(during []step, isWrong func(eventReport) bool, want ...string) step {
	return reportEvents(during, want, func(h eventReport) error {
		switch {
		case h.isEqual():
			return nil
		case isWrong(h):
			return contradiction{h.differs()}
		case h.silence != nil:
			return h.silence
		}
		return unjudgedError{ReasonObserve, h.differs()}
	})
}

// wrongEvents describes the first difference from the expected events, for a cause.
func wrongEvents(want, got []string) string {
	kind := func(summary string) string {
		name, _, _ := strings.Cut(summary, " ")
		return name
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got) || i < len(want) && len(got) < len(want) && got[i] != want[i]:
			return "lacks the event " + kind(want[i])
		case i >= len(want) || len(got) > len(want) && got[i] != want[i]:
			return "has an event too many: " + kind(got[i])
		case kind(got[i]) != kind(want[i]):
			return fmt.Sprintf("has the event %s, not %s", kind(got[i]), kind(want[i]))
		case got[i] != want[i]:
			return "has a wrong path in the event " + kind(got[i])
		}
	}
	return "has wrong events"
}

// isSubsequence reports whether all contains the elements of part in their order.
func isSubsequence(part, all []string) bool {
	for _, s := range all {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}
