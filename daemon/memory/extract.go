package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/distill"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Jobs extract facts. A job of a session works in steps: the model reads some messages, and one
// batch writes their facts and counts the messages as extracted. So a crash neither loses a fact
// nor writes one twice. The model may be asked again.

const (
	// A step reads at most maxStepMessages, and at most maxStepBytes of content unless one message
	// has more.
	maxStepMessages = 100
	maxStepBytes    = 48 << 10
	// The model rereads some messages before a step, as context.
	maxEarlierMessages = 4
	maxEarlierBytes    = 1500
	// maxFactsDocument is the size in bytes at which a new document of facts begins. A step
	// rewrites the last one.
	maxFactsDocument = 32 << 10
)

// extractPayload names the source of a job: a document, or a session and the number of messages to
// extract at least.
type extractPayload struct {
	SessionID string `json:"session_id,omitempty"`
	Messages  int    `json:"messages,omitempty"`
	Path      string `json:"path,omitempty"`
}

// addExtract adds a job that extracts facts from the first n messages of a session.
func (s *Service) addExtract(ctx context.Context, b *store.Batch, state *sessionState, n int) (err error) {
	state.Final = n
	payload := extractPayload{SessionID: state.ID, Messages: n}
	state.ExtractJob, err = s.addJob(ctx, b, protocol.JobExtract, payload)
	return err
}

func runExtract(ctx context.Context, s *Service, h brain.Handle, j *job) (any, error) {
	var p extractPayload
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return nil, &permanentError{fmt.Errorf("payload of job %s: %w", j.ID, err)}
	}
	st, err := h.Store(ctx)
	if err != nil {
		return nil, err
	}
	if p.SessionID != "" {
		return s.extractSession(ctx, st, p, j)
	}
	return s.extractDocument(ctx, st, p.Path, j)
}

// extractSession extracts facts from the messages that the payload counts and that were not
// extracted yet. It goes on to later messages if they fit into the last step, so that a model
// slower than the conversation catches up.
func (s *Service) extractSession(
	ctx context.Context, st *store.Store, p extractPayload, j *job,
) (protocol.ExtractResult, error) {
	result := protocol.ExtractResult{SessionID: p.SessionID, Paths: []string{}}
	for {
		part, err := readUnextracted(ctx, st, p.SessionID)
		if store.IsNotFound(err) || err == nil && (len(part.fresh) == 0 || part.first() >= p.Messages) {
			return result, nil // the session was deleted, or the job is done
		}
		if err != nil {
			return result, err
		}
		facts, use, err := s.distiller.Facts(ctx, part.all())
		if err != nil {
			return result, fmt.Errorf("messages %d to %d of session %q: %w",
				part.first(), part.end()-1, p.SessionID, err)
		}
		step := result
		err = st.Batch(ctx, store.BatchOptions{Reason: "extract facts of a session"}, func(b *store.Batch) error {
			step = result
			step.Model = use.Model
			return commitFacts(ctx, b, part, facts, &step, func() error {
				if part.end() < p.Messages {
					return nil
				}
				return j.finish(ctx, b, step)
			})
		})
		if err != nil && !errors.Is(err, errExtracted) {
			return result, err
		}
		if err == nil {
			result = step
		}
	}
}

// errExtracted means that the messages of a step have been extracted in the meantime, or deleted
// with their session while another one with its id was opened.
var errExtracted = errors.New("the messages were extracted or deleted in the meantime")

// commitFacts adds the facts of a step to a batch. It calls finish last.
func commitFacts(
	ctx context.Context, b *store.Batch, part pendingMessages, found []distill.Fact,
	result *protocol.ExtractResult, finish func() error,
) error {
	state, err := readSession(ctx, b, part.state.ID)
	if err != nil {
		return err
	}
	if state.Generation != part.state.Generation || state.Extracted != part.first() {
		return errExtracted
	}
	facts := part.facts(found)
	if len(facts) > 0 {
		path, err := writeFacts(ctx, b, &state, part, facts)
		if err != nil {
			return err
		}
		if !slices.Contains(result.Paths, path) {
			result.Paths = append(slices.Clone(result.Paths), path)
		}
	}
	state.Extracted = part.end()
	state.ExtractSegment = part.segment
	if err := state.write(ctx, b); err != nil {
		return err
	}
	result.Messages += len(part.fresh)
	result.Facts += len(facts)
	return finish()
}

// writeFacts adds facts to the last document of facts of the session, and returns its path.
func writeFacts(
	ctx context.Context, b *store.Batch, state *sessionState, part pendingMessages, facts []fact,
) (string, error) {
	name := sessionFactsPath(state.ID, state.FactsDocument)
	old, err := readIfThere(ctx, b, name)
	if err == nil && len(old) > maxFactsDocument {
		state.FactsDocument++
		name = sessionFactsPath(state.ID, state.FactsDocument)
		old, err = readIfThere(ctx, b, name)
	}
	if err != nil {
		return "", err
	}
	text, err := addFacts(old, state.ID, latestDay(old, part.fresh), facts, part.actors()...)
	if err != nil {
		return "", err
	}
	return name, b.Write(ctx, name, []byte(text))
}

// readIfThere returns nil if there is no document.
func readIfThere(ctx context.Context, b *store.Batch, path string) ([]byte, error) {
	data, err := b.Read(ctx, path)
	if store.IsNotFound(err) {
		return nil, nil
	}
	return data, err
}

// sessionFactsPath returns the path of document n of the facts of a session, counted from 0. A key
// contains "=" only before a hash, so these names cannot be another session's.
func sessionFactsPath(session string, n int) string {
	key := sessionKey(session)
	if n > 0 {
		key += fmt.Sprintf("=%04d", n+1)
	}
	return factsPath(key)
}

// latestDay returns the later of the latest message's day and the old document's day.
func latestDay(old []byte, messages []message) time.Time {
	latest := frontmatter.Parse(string(old)).Date
	for _, m := range messages {
		if day := dayOf(m.At); day.After(latest) {
			latest = day
		}
	}
	return latest
}

// dayOf returns the calendar day of a time in its own zone, at midnight in UTC.
func dayOf(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// errChanged means that a document has changed since its facts were asked for.
var errChanged = errors.New("the document has changed in the meantime")

// extractDocument extracts facts from a transcript that is a document. It finds none in a document
// that was deleted or replaced by another kind. If the document changes while the model reads it,
// the model reads it again, up to maxRereads times. After that the job is tried again later.
func (s *Service) extractDocument(
	ctx context.Context, st *store.Store, name string, j *job,
) (protocol.ExtractResult, error) {
	for again := 0; ; again++ {
		result, err := s.extractText(ctx, st, name, j)
		if !errors.Is(err, errChanged) || again == maxRereads {
			return result, err
		}
	}
}

// maxRereads is how often a job reads a document again because it has changed.
const maxRereads = 2

// extractText is one attempt of extractDocument. It fails with errChanged, and without an effect, if
// the document no longer begins with what the model has read. An append leaves these facts right.
func (s *Service) extractText(
	ctx context.Context, st *store.Store, name string, j *job,
) (protocol.ExtractResult, error) {
	result := protocol.ExtractResult{DocumentID: name, Paths: []string{}}
	data, err := st.Read(ctx, name)
	if store.IsNotFound(err) {
		return result, nil
	}
	if err != nil {
		return result, err
	}
	doc := frontmatter.Parse(string(data))
	if doc.Source != protocol.SourceExtract {
		return result, nil
	}
	part := documentMessages(doc)
	found, use, err := s.distiller.Facts(ctx, part.all())
	if err != nil {
		return result, fmt.Errorf("document %s: %w", name, err)
	}
	facts := part.facts(found)
	result.Model, result.Messages, result.Facts = use.Model, len(part.fresh), len(facts)
	err = st.Batch(ctx, store.BatchOptions{Reason: "extract facts of a document"}, func(b *store.Batch) error {
		current, err := b.Read(ctx, name)
		if store.IsNotFound(err) || err == nil && !bytes.HasPrefix(current, data) {
			return errChanged
		}
		if err != nil {
			return err
		}
		if len(facts) > 0 {
			path := documentFactsPath(name)
			old, err := readIfThere(ctx, b, path)
			if err != nil {
				return err
			}
			if isSealed(string(old)) {
				old = nil // of an earlier job for the same text, whose facts may differ in wording
			}
			text, err := addFacts(old, name, latestDay(old, part.fresh), facts, part.actors()...)
			if err != nil {
				return err
			}
			if err := b.Write(ctx, path, []byte(text)); err != nil {
				return err
			}
			result.Paths = []string{path}
		}
		return j.finish(ctx, b, result)
	})
	return result, err
}

// documentFactsPath returns the path of a document's facts. The key of a session has no slash, so
// no session shares the path.
func documentFactsPath(name string) string { return factsPath("documents/" + sessionKey(name)) }

// documentMessages returns the messages of a transcript. A text that does not have the form of
// protocol.Transcript counts as one message of a user.
func documentMessages(doc frontmatter.Document) pendingMessages {
	turns, ok := protocol.ParseTranscript(doc.Body)
	if !ok {
		turns = []protocol.SessionMessage{{Role: protocol.RoleUser, Content: doc.Body}}
	}
	part := pendingMessages{fresh: make([]message, len(turns))}
	for i, turn := range turns {
		part.fresh[i] = message{Role: turn.Role, Name: turn.Name, Content: turn.Content, At: doc.When()}
		if actor, ok := doc.Metadata[protocol.MetadataActorID]; ok {
			part.fresh[i].Metadata = map[string]any{protocol.MetadataActorID: actor}
		}
	}
	return part
}
