package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// sample is a text written to a service to examine its replies.
type sample struct {
	mark, id, title, text string
	given                 []any // ids that the service may have given to it, see foundItem.sentID
}

// sampleDate is the date of samples. No clock will produce it.
const sampleDate = "2025-01-31"

// sampleTexts are long enough to reveal truncation, and distinct enough not to be confused.
var sampleTexts = [3]string{
	"The harbour master of %[1]s keeps three lanterns by the window of the pilot house. Every evening she writes the name " +
		"of each ship that passed into a blue ledger, with the wind and the tide beside it. In the autumn storms she lights all " +
		"three, and the fishermen of %[2]s say that they can be seen from the far side of the bay. When the ledger is full, she " +
		"carries it to the archive on the hill and begins a new one on the same day, because a day without a page is a day lost.",
	"The baker of %[1]s gets up long before dawn to heat a stone oven that his grandmother built. He mixes rye flour with " +
		"buttermilk and caraway, and lets the dough rest while he sweeps the yard. By six o'clock the first loaves stand on the " +
		"shelf, and half of %[2]s queues at his door with paper bags. On Fridays he also makes small cakes with plums, which are " +
		"gone within an hour, and he has never told anybody how much cinnamon he puts into them.",
	"The clockmaker of %[1]s works in a cellar that is lit by a single lamp. She repairs pendulums, springs and tiny brass " +
		"wheels, and hangs finished clocks on the long wall, where each of them shows another time. Children from %[2]s come after " +
		"school to listen to the ticking and to guess which clock will strike first. She gives the winner a polished gear on a " +
		"string, and notes the name in chalk above the door until the rain washes it away again.",
}

// newSamples returns three samples. All contain mark, and each contains a mark of its own.
func newSamples(mark string) (all []*sample) {
	for i, text := range sampleTexts {
		s := &sample{mark: fmt.Sprintf("%s%c", mark, 'a'+i)}
		s.id, s.title = "evalctl-"+s.mark, "A walk through "+s.mark
		s.text = fmt.Sprintf(text, s.mark, mark)
		all = append(all, s)
	}
	return all
}

// question asks about the first sample, with words from its text and others.
func question(samples []*sample) string {
	return "How many lanterns does somebody keep who is the harbour master of " + samples[0].mark + "?"
}

// beginning is the part of the text that identifies a truncated sample.
func (s *sample) beginning() string { return s.text[:60] }

// sentence is the first sentence without its first word, for a search by meaning. So a reply that
// repeats the query is not taken for a hit.
func (s *sample) sentence() string {
	first, _, _ := strings.Cut(s.text, ".")
	return first[strings.IndexByte(first, ' ')+1:]
}

// values returns the placeholders of a sample in a brain.
func (s *sample) values(brain string) map[string]any {
	return map[string]any{
		"brain": brain, "id": s.id, "name": nameOf(s.id), "title": s.title, "date": sampleDate, "text": s.text, "document": s.text,
	}
}

// sentIDs returns the possible ids of a sample: those given by the service, then its own.
func (s *sample) sentIDs() []any { return append(slices.Clip(s.given), s.id) }

// ids returns sentIDs as texts.
func (s *sample) ids() []string { return textsOfAll(s.sentIDs()) }

// byID returns the placeholders of a call about the sample by one of its ids.
func (s *sample) byID(brain string, id any) map[string]any {
	return text{values: s.values(brain)}.called(id).values
}

// in reports whether a text contains the whole sample.
func (s *sample) in(text string) bool { return strings.Contains(text, s.text) }

// shownIn returns the longest beginning of the sample in a text, "" if it is too short to be the
// sample.
func (s *sample) shownIn(text string) string {
	if !strings.Contains(text, s.beginning()) {
		return ""
	}
	n := len(s.text)
	for n > 0 && !strings.Contains(text, s.text[:n]) {
		n--
	}
	for _, mark := range []string{"...", "…"} { // marks of truncation, part of the shown text
		if n < len(s.text) && strings.Contains(text, s.text[:n]+mark) {
			return s.text[:n] + mark
		}
	}
	return s.text[:n]
}
