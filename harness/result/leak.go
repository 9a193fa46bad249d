package result

import "fmt"

// Place is where a service returned a forbidden text.
type Place string

// The places that are checked.
const (
	InAnswer   Place = "answer"
	InChunk    Place = "chunk"    // a passage that was retrieved, or that a search for the text found
	InCitation Place = "citation" // a citation, except for its quote
	InQuote    Place = "quote"
	InEvent    Place = "event"  // an event of the answer's stream that is none of these
	InRecord   Place = "record" // the record of a document
	InList     Place = "list"   // a list of documents
)

// Places returns all places, in the order of tables.
func Places() []Place {
	return []Place{InAnswer, InChunk, InCitation, InQuote, InEvent, InRecord, InList}
}

// Origin is the origin of a forbidden text.
type Origin string

// The origins. Any other text has none.
const (
	OfDeleted  Origin = "deleted"  // a document or a session that was deleted, or the path of one
	OfReplaced Origin = "replaced" // an earlier version of a document
	OfAnother  Origin = "foreign"  // another brain
)

// Leak is a forbidden text that came back.
type Leak struct {
	Text  string `json:"text"`
	Place Place  `json:"place"`
	// At is the location within the place: a key of the question in the result, such as
	// retrieved[2].text, or the request that returned the text.
	At string `json:"at"`
	// Origin is empty if unknown.
	Origin Origin `json:"origin,omitempty"`
}

// String formats the leak for messages. It may quote the dataset.
func (l Leak) String() string { return fmt.Sprintf("%q came back in %s", l.Text, l.At) }

// LeakFigures counts the questions with leaks, in total and by place.
type LeakFigures struct {
	Questions int           `json:"questions"`
	Places    map[Place]int `json:"places"`
	// Severe is the number of questions with a leak of OfDeleted or OfAnother.
	Severe int `json:"deleted_or_foreign,omitempty"`
}
