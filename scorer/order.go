package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// orderName is the name of the scorer Order.
const orderName = "kendall-tau"

// EventName is the name of the checks whose criteria are events in their order.
const EventName = "event"

// maxOrderLines is how many lines of an answer are compared with events. Each costs as many requests as
// there are events.
const maxOrderLines = 200

// Order scores whether an answer, with an event on each line, has the events of its question in their
// order. It computes what the authors of BEAM report for event ordering: a judge finds for each line the
// first event that it tells of and that no line before it told of; then Kendall's tau-b is taken of the
// places of all events and lines in both lists, where what a list lacks comes last. The score is
// (tau + 1)/2.
type Order struct {
	// Judge says whether a line tells of an event, with the prompts of EventPrompts. It may be nil for
	// Check.
	Judge *Judge
}

// Name is "kendall-tau".
func (Order) Name() string { return orderName }

// events returns the events of an item in their order.
func events(item Item) (list []string) {
	for _, c := range item.Checks {
		if c.Name == EventName && c.Judge != "" {
			list = append(list, c.Judge)
		}
	}
	return list
}

// Check returns ErrNoGold for an item without events, which has no order.
func (Order) Check(item Item) error {
	list := events(item)
	if len(list) == 0 {
		return fmt.Errorf("question %q has no checks with the name %q: %w", item.ID, EventName, ErrNoGold)
	}
	slices.Sort(list)
	if len(slices.Compact(list)) < 2 {
		return fmt.Errorf("question %q has one event in its checks, and an order has at least two", item.ID)
	}
	return nil
}

// Score asks the judge for each line about the events that no line before told of, until one fits. The
// error is that of Check, or of Judge.Score.
func (s Order) Score(ctx context.Context, item Item) (Verdict, error) {
	if err := s.Check(item); err != nil {
		return Verdict{}, err
	}
	if s.Judge == nil {
		return Verdict{}, errors.New("events are found by a judge, and there is none")
	}
	var sum Verdict
	list, lines := events(item), strings.Split(item.Answer, "\n")
	if len(lines) > maxOrderLines {
		sum.Reason = fmt.Sprintf("the answer has %d lines, and at most %d are compared with the events", len(lines), maxOrderLines)
		return sum, nil
	}
	told := map[int]bool{}
	sum.Cached = true
	asked := false
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue // it tells of nothing, and still is a line
		}
		for n, event := range list {
			if told[n] {
				continue
			}
			v, err := s.Judge.Score(ctx, eventItem(item, event, line))
			asked = true
			sum.spend(v)
			if v.Model != "" {
				sum.Model = v.Model
			}
			switch {
			case err != nil:
				return sum.unscored(), err
			case !v.Scored:
				sum.Reason, sum.Unanswered = fmt.Sprintf("line %d, event %d: %s", i+1, n+1, v.Reason), v.Unanswered
				return sum, nil
			case v.Passed():
				lines[i], told[n] = event, true
			}
			if told[n] {
				break
			}
		}
	}
	sum.Cached, sum.Scored = sum.Cached && asked, true
	sum.Score, sum.Reason = orderScore(list, lines)
	return sum, nil
}

// eventItem is what the judge gets for a line and an event.
func eventItem(item Item, event, line string) Item {
	item.Reference, item.Answer, item.Type = event, line, ""
	return item
}

// lineItems returns about as many items as the judge gets for an item: one for each event and each line
// of the answer, which is taken to have at least as many lines as there are events.
func lineItems(item Item) (out []Item) {
	list := events(item)
	lines := strings.Split(item.Answer, "\n")
	if n := len(list); len(lines) < n {
		lines = slices.Repeat([]string{item.Answer[:len(item.Answer)/n]}, n)
	}
	for _, line := range lines {
		for _, event := range list {
			out = append(out, eventItem(item, event, line))
		}
	}
	return out
}

// orderScore compares the order of lines, in which events stand as they do in the list of events, with
// that of the events.
func orderScore(list, lines []string) (score float64, reason string) {
	x, y := ranks(list, lines)
	score = (kendallTauB(x, y) + 1) / 2
	found, extra := 0, 0
	for _, event := range slices.Compact(slices.Sorted(slices.Values(list))) {
		if slices.Contains(lines, event) {
			found++
		}
	}
	missing := 0
	for _, event := range list {
		if !slices.Contains(lines, event) {
			missing++
		}
	}
	for _, line := range lines {
		if !slices.Contains(list, line) {
			extra++
		}
	}
	f1 := 0.0
	if found > 0 {
		f1 = 2 * float64(found) / float64(2*found+extra+missing)
	}
	return score, fmt.Sprintf("the order scores %.3f; %d of %d events are told, on %d lines (F1 %.3f, their product %.3f)",
		score, found, found+missing, len(lines), f1, score*f1)
}

// ranks returns the places of all different texts of two lists in each of them, from 1. A text that is
// there several times has the last of its places, and one that is not there comes after all others.
func ranks(a, b []string) (x, y []int) {
	var union []string
	for _, text := range slices.Concat(a, b) {
		if !slices.Contains(union, text) {
			union = append(union, text)
		}
	}
	places := func(list []string) (out []int) {
		at := map[string]int{}
		for i, text := range list {
			at[text] = i + 1
		}
		for _, text := range union {
			place, there := at[text]
			if !there {
				place = len(union) + 1
			}
			out = append(out, place)
		}
		return out
	}
	return places(a), places(b)
}

// EventPrompts returns the prompts of a judge that says whether a line tells of an event.
func EventPrompts() Prompts {
	return Prompts{Scorer: orderName, Name: "event-1", System: promptText("event"), User: eventMessage, Repair: repairPrompt}
}

// eventMessage returns an event and a line as one JSON object.
func eventMessage(item Item) string {
	return objectMessage(struct {
		Event string `json:"event"`
		Line  string `json:"line"`
	}{item.Reference, item.Answer})
}
