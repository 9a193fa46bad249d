package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Ability is something that a service may not be able to do, or not say.
type Ability string

// What a service does.
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
	Sessions    Ability = "sessions"    // keeps sessions of messages, and reflects on them, see Recaller
	Consolidate Ability = "consolidate" // tidies a brain
	Tell        Ability = "tell"        // remembers conversations, see Listener
	Records     Ability = "records"     // shows what it has recorded, see Recorder
	Metrics     Ability = "metrics"     // counts what it embeds, see Metered
	Protocol    Ability = "protocol"    // speaks the protocol over HTTP, see Wire
)

// What a service says about what it found.
const (
	IDs    Ability = "ids"    // the document of a passage
	Ranks  Ability = "ranks"  // an order by relevance
	Scores Ability = "scores" // how relevant a passage is
	Dates  Ability = "dates"  // the date of a passage
	Modes  Ability = "modes"  // which retrieval mode ran
)

// What a caller can choose.
const (
	Mode           Ability = "mode" // of retrieval
	CandidateK     Ability = "candidate_k"
	RerankTopN     Ability = "rerank_top_n"
	MaxPerDocument Ability = "max_per_document"
)

// Abilities says what a service can do. A mapping knows it before its service is opened.
type Abilities interface {
	// Lacks says what the service cannot do, or not say, and why: one sentence without a capital and a
	// full stop. It is empty if the service can. The answer never changes.
	Lacks(Ability) string
}

// ErrLacks means that a service does not have an Ability.
var ErrLacks = errors.New("the target cannot do that")

// Needs returns an error, ErrLacks, that names the first of the abilities that a service lacks.
func Needs(s Abilities, abilities ...Ability) error {
	for _, a := range abilities {
		if why := s.Lacks(a); why != "" {
			return fmt.Errorf("%w (%s): %s", ErrLacks, a, why)
		}
	}
	return nil
}

// Find returns a service as what it can do: T is the interface of the ability. The error is ErrLacks,
// with the reason.
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
	// Get returns the texts of a document, none if it is not there.
	Get(ctx context.Context, id, path string) ([]string, error)
}

// Listener is a Service that can Tell: it remembers conversations by rules of its own.
type Listener interface {
	// Tell remembers the turns of a session. When it returns, they are remembered, though perhaps not
	// found by a search yet.
	Tell(ctx context.Context, id string, c Conversation) error
}

// Recorder is a Service that shows what it has recorded of a brain besides passages.
type Recorder interface {
	// Records returns its lists and records. What cannot be read is left out.
	Records(ctx context.Context, id string) ([]Listing, error)
}

// Listing is one list or record, with where it was found.
type Listing struct {
	Place result.Place
	At    string
	Value json.RawMessage
}

// Recaller is a Service that searches in the context of a session.
type Recaller interface {
	// Recall returns the passages that it finds for a query in a session of a brain.
	Recall(ctx context.Context, id, session, query string, topK int) ([]result.Chunk, error)
}

// MeteredService is a Service whose Metrics count what it embeds.
type MeteredService interface {
	// Embeddings returns what was embedded since the service began. ok is false if the metrics do not
	// say it.
	Embeddings(ctx context.Context) (found Embeddings, ok bool)
}

// Notices are kept by a Service as findings: what becomes known about it while it is filled.
type Notices interface {
	// Unfound notes that of documents that were searched for by their own words some were never
	// found. It may be called concurrently.
	Unfound(missing, searched int)
}

// Wire is a Service that speaks the Protocol, for a load generator, whose requests are its own.
type Wire interface{ Wire() *Endpoint }

// OperationNeeds returns the ability that an operation needs. A restart needs none.
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
