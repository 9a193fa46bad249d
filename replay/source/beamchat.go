package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/jsonstream"
)

// beamBatches returns the batches of a chat in the forms in which its authors publish it:
// objects with turns, or lists of messages. A chat of 10M is objects whose members plan-1 and so
// on, null if absent, are lists of batches.
func beamBatches(data []byte) (batches []beamBatch, err error) {
	var list []json.RawMessage
	if err := jsonstream.Decode(data, 0, &list); err != nil {
		return nil, err
	}
	for i, raw := range list {
		var more []beamBatch
		if raw[0] == '[' {
			var messages []beamMessage
			err = jsonstream.Decode(raw, 0, &messages)
			more = []beamBatch{{Turns: beamTurns(messages)}}
		} else {
			more, err = beamObject(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		batches = append(batches, more...)
	}
	return batches, nil
}

// beamObject returns the batch that an object is, or the batches of its plans in order.
func beamObject(raw []byte) (batches []beamBatch, err error) {
	var members map[string]json.RawMessage
	if err := jsonstream.Decode(raw, 0, &members); err != nil {
		return nil, err
	}
	if turns, ok := members["turns"]; ok {
		var batch beamBatch
		err = jsonstream.Decode(turns, 0, &batch.Turns)
		return []beamBatch{batch}, err
	}
	plans := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) // plan-10 is after plan-9
	})
	plans = slices.DeleteFunc(plans, func(key string) bool { return !strings.HasPrefix(key, "plan-") })
	if len(plans) == 0 {
		return nil, errors.New("it has neither turns nor a plan such as plan-1")
	}
	for _, plan := range plans {
		more, err := beamBatches(members[plan])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plan, err)
		}
		batches = append(batches, more...)
	}
	return batches, nil
}

// beamTurns divides the messages of a batch into turns. Each begins with a main question, or in
// a batch without any, with a message of the user.
func beamTurns(messages []beamMessage) (turns [][]beamMessage) {
	isMain := func(m beamMessage) bool { return m.Kind == "main_question" }
	marked := slices.ContainsFunc(messages, isMain)
	for i, m := range messages {
		if i == 0 || isMain(m) || !marked && m.Role == "user" {
			turns = append(turns, nil)
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], m)
	}
	return turns
}
