package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"evalctl/daemon/protocol"
)

const (
	// maxMessageBody is enough for the longest content with each character escaped, and metadata.
	maxMessageBody = 16 << 20
	// maxMessagesBody limits a batch of messages: 500 long messages, but not 500 of the longest.
	maxMessagesBody = 32 << 20
)

func sessionOf(r *http.Request) string { return r.PathValue("session_id") }

func (a *API) addMessage(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(w, r, maxMessageBody)
	if err != nil {
		return err
	}
	var message protocol.SessionMessage
	if err := decode(body, nil, &message); err != nil {
		return err
	}
	records, err := a.memory.AddMessages(r.Context(), brainOf(r), sessionOf(r),
		[]protocol.SessionMessage{message})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, records[0])
}

func (a *API) addMessages(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(w, r, maxMessagesBody)
	if err != nil {
		return err
	}
	messages, err := decodeMessages(body)
	if err != nil {
		return err
	}
	records, err := a.memory.AddMessages(r.Context(), brainOf(r), sessionOf(r), messages)
	return replyJSON(w, http.StatusCreated, protocol.SessionMessageList{Messages: records}, err)
}

// decodeMessages reads a protocol.SessionMessages. The keys of the body and of each message may be
// in either spelling.
func decodeMessages(body []byte) ([]protocol.SessionMessage, error) {
	fields, err := normalizeKeys("the body", body, nil, []string{"messages"}, false)
	if err != nil {
		return nil, err
	}
	given := fields["messages"]
	if given == nil {
		return nil, requestErrorf(errInvalid, "messages is missing")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(given, &list); err != nil {
		return nil, requestErrorf(errInvalid, "messages must be a list")
	}
	if len(list) > protocol.MaxSessionMessages {
		return nil, requestErrorf(errInvalid, "messages: %d is not between 1 and %d",
			len(list), protocol.MaxSessionMessages)
	}
	messages := make([]protocol.SessionMessage, len(list))
	for i, one := range list {
		if err := decode(one, nil, &messages[i]); err != nil {
			if e, ok := errors.AsType[*requestError](err); ok {
				return nil, requestErrorf(e.kind, "message %d: %s", i, e.detail)
			}
			return nil, err
		}
	}
	return messages, nil
}

func (a *API) getSession(w http.ResponseWriter, r *http.Request) error {
	session, err := a.memory.Session(r.Context(), brainOf(r), sessionOf(r))
	return replyJSON(w, http.StatusOK, session, err)
}

func (a *API) deleteSession(w http.ResponseWriter, r *http.Request) error {
	return replyEmpty(w, http.StatusNoContent, a.memory.DeleteSession(r.Context(), brainOf(r), sessionOf(r)))
}

func (a *API) recall(w http.ResponseWriter, r *http.Request) error {
	var body protocol.RecallRequest
	also := aliases{"question": "query"}
	if err := decodeQuestion(w, r, also, protocol.MaxRecallTopK, &body); err != nil {
		return err
	}
	found, err := a.memory.Recall(r.Context(), brainOf(r), sessionOf(r), body)
	return replyJSON(w, http.StatusOK, found, err)
}

func (a *API) reflect(w http.ResponseWriter, r *http.Request) error {
	if err := requestOf(r).begin(r.Context()); err != nil { // it has no body
		return err
	}
	res, err := a.memory.Reflect(r.Context(), brainOf(r), sessionOf(r))
	return replyJSON(w, http.StatusOK, res, err)
}
