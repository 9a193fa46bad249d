package distill

import (
	"encoding/json"
)

// fakeFacts is the offline reply to factsPrompt.
func fakeFacts(w window) string {
	reply := factsReply{Facts: []factReply{}}
	for _, p := range w.Messages {
		if p.Role == RoleTool {
			continue
		}
		for _, s := range sentences(p.Text) {
			if len(reply.Facts) < maxFacts && len(s) < MaxFact/2 && len(s) > 20 {
				reply.Facts = append(reply.Facts, factReply{Text: s, Message: p.ID})
			}
		}
	}
	return encode(reply)
}

// encode returns the JSON of a reply, which has no value that cannot be encoded.
func encode(reply any) string {
	data, err := json.Marshal(reply)
	if err != nil {
		return err.Error() // is rejected as a reply
	}
	return string(data)
}
