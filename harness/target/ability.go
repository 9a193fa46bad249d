package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Ability is an operation or a piece of information that a service may not provide.
type Ability string

// Operations of a service.
const (
	Asks        Ability = "ask"       // answers questions with a reader of its own
	Search      Ability = "search"    // finds passages
	Put         Ability = "put"       // writes a document
	Overwrite   Ability = "overwrite" // replaces the text of a document
	Append      Ability = "append"
	Delete      Ability = "delete"
	Get         Ability = "get" // reads a document, see Reader
	Rename      Ability = "rename"
	Brains      Ability = "brains"      // keeps several brains apart
	NewBrains   Ability = "new brains"  // Store.Create returns an empty brain, or ErrExists
	Sessions    Ability = "sessions"    // keeps sessions of messages, and reflects on them, see Recaller
	Consolidate Ability = "consolidate" // tidies a brain
	Tell        Ability = "tell"        // remembers conversations, see Listener
	Records     Ability = "records"     // shows what it has recorded, see Recorder
	Metrics     Ability = "metrics"     // counts what it embeds, see Metered
	Protocol    Ability = "protocol"    // speaks the protocol over HTTP, see Wire
)

// Information about found passages.
const (
	IDs    Ability = "ids"    // the document of a passage
	Ranks  Ability = "ranks"  // an order by relevance
	Scores Ability = "scores" // how relevant a passage is
	Dates  Ability = "dates"  // the date of a passage
	Modes  Ability = "modes"  // which retrieval mode ran
)

// Choices of the caller.
const (
	Mode           Ability = "mode" // of retrieval
	CandidateK     Ability = "candidate_k"
	RerankTopN     Ability = "rerank_top_n"
	MaxPerDocument Ability = "max_per_document"
)

// Abilities describes what a service can do. A mapping knows this before its service is opened.
type Abilities interface {
	// Lacks says why the service lacks an ability: one sentence without a capital and a full stop,
	// or "" if the service has it. The answer never changes.
	Lacks(Ability) string
}

// ErrLacks means that a service lacks an Ability.
var ErrLacks = errors.New("the target cannot do that")

// Needs returns ErrLacks for the first ability that a service lacks, nil if it has all.
func Needs(s Abilities, abilities ...Ability) error {
	for _, a := range abilities {
		if why := s.Lacks(a); why != "" {
			return fmt.Errorf("%w (%s): %s", ErrLacks, a, why)
		}
	}
	return nil
}

// Find returns a service as T, the interface of an ability. If the service lacks the ability, the
// error is ErrLacks with the reason.
func Find[T any](s Service, a Ability) (T, error) {
	t, ok := s.(T)
	err := Needs(s, a)
	if err == nil && !ok {
		err = fmt.Errorf("%w (%s)", ErrLacks, a)
	}
	return t, err
}

// Reader is a Service that can Get.
type Reader interface {
	// Get returns the texts of a document, none if it does not exist.
	Get(ctx context.Context, id, path string) ([]string, error)
}

// Listener is a Service that can Tell: it decides by itself how to remember conversations.
type Listener interface {
	// Tell stores the turns of a session. After it returns, they are stored but perhaps not yet
	// searchable.
	Tell(ctx context.Context, id string, c Conversation) error
}

// Recorder is a Service that exposes what it stores about a brain besides passages.
type Recorder interface {
	// Records returns the brain's lists and records, without those that the service does not
	// show.
	Records(ctx context.Context, id string) ([]Listing, error)
}

// Listing is one list or record and its location.
type Listing struct {
	Place result.Place
	At    string
	Value json.RawMessage
}

// Recaller is a Service that searches in the context of a session.
type Recaller interface {
	// Recall returns the passages found for a query in a session of a brain.
	Recall(ctx context.Context, id, session, query string, topK int) ([]result.Chunk, error)
}

// MeteredService is a Service whose metrics count its embeddings.
type MeteredService interface {
	// Embeddings returns the counts since the service started. ok is false if the metrics do not
	// have them.
	Embeddings(ctx context.Context) (found Embeddings, ok bool)
}

// Notices are findings about a Service made while it is filled.
type Notices interface {
	// Unfound records how many of the searched documents were never found by their own words. It is
	// safe for concurrent use.
	Unfound(missing, searched int)
}

// NoteTaker is a Store that learns what no other process can: how the service calls a brain, and the
// ids that it gives to texts.
type NoteTaker interface {
	// Notes returns what is known about a brain.
	Notes(id string) ([]byte, error)
	// UseNotes adopts the notes of the process that filled a brain. The brain must have been
	// found. If there are no notes, which are then nil, it returns ErrMissing if the brain is of
	// no use without.
	UseNotes(id string, notes []byte) error
}

// Wire is a Service that speaks the Protocol, for a load generator that makes its own requests.
type Wire interface{ Wire() *Endpoint }

// OperationNeeds returns the abilities that an operation needs. A restart needs none.
func OperationNeeds(o dataset.Op) []Ability {
	switch o {
	case dataset.OpPut, dataset.OpRemember:
		return []Ability{Put}
	case dataset.OpAppend:
		return []Ability{Append}
	case dataset.OpDelete:
		return []Ability{Delete}
	case dataset.OpRename:
		return []Ability{Rename}
	case dataset.OpMessage, dataset.OpReflect, dataset.OpForget:
		return []Ability{Sessions}
	case dataset.OpConsolidate:
		return []Ability{Consolidate}
	}
	return nil
}

// AsksModel reports whether a service may ask a model for an operation. It then takes as long as
// an answer.
func AsksModel(o dataset.Op) bool { return o == dataset.OpReflect || o == dataset.OpConsolidate }
