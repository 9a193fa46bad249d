package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
)

// orderName is the name of the scorer Order.
const orderName = "kendall-tau"

// EventName is the name of checks whose criteria are events in order.
const EventName = "event"

// maxOrderLines is how many lines of an answer are compared with events. Each costs up to one
// request per event.
const maxOrderLines = 200

// Order scores whether an answer, with one event per line, has its question's events in order. It
// computes the measure of BEAM's authors for event ordering. For each line, a judge finds the first
// event that the line describes and no earlier line did. Kendall's tau-b then compares the
// positions of all events and lines in both lists, where missing ones come last. The score is (tau
// + 1)/2.
type Order struct {
	// Judge decides whether a line describes an event, with EventPrompts. It may be nil for Check.
	Judge *Judge
}

// Name is "kendall-tau".
func (Order) Name() string { return orderName }

// events returns the events of an item in order.
func events(item Item) (list []string) {
	for _, c := range item.Checks {
		if c.Name == EventName && c.Judge != "" {
			list = append(list, c.Judge)
		}
	}
	return list
}

// Check returns ErrNoGold for an item without events.
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

// Score asks the judge, for each line, about the events that no earlier line described until one
// matches. Errors are as from Check and Judge.Score.
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

// eventItem returns the judge's item for a line and an event.
func eventItem(item Item, event, line string) Item {
	item.Reference, item.Answer, item.Type = event, line, ""
	return item
}

// lineItems approximates the judge's items for an item: one for each event and line, assuming at
// least as many lines as events.
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

// orderScore compares the order of the lines with the order of the events. Lines that describe an
// event contain its text.
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

// ranks returns the positions, from 1, of all distinct texts of two lists in each list. A repeated
// text has its last position; a missing one comes after all others.
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

// EventPrompts returns prompts that ask whether a line describes an event.
func EventPrompts() Prompts {
	return Prompts{Scorer: orderName, Name: "event-1", System: promptText("event"), User: eventMessage, Repair: repairPrompt}
}

// eventMessage returns an event and a line as one JSON object.
func eventMessage(item Item) string {
	return jsonobj.Text(struct {
		Event string `json:"event"`
		Line  string `json:"line"`
	}{item.Reference, item.Answer})
}
