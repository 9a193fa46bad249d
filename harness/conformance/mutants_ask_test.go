package conformance

import (
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

var askRoute = route("POST /ask")

// editAskPayload changes the payloads of the events with a name in ask streams.
func editAskPayload(event string, change func(o map[string]any)) wrapper {
	return rewriteStream(askRoute, editPayload(event, change))
}

// replaceAskFrames replaces the events with a name in ask streams.
func replaceAskFrames(event string, change func(frame) []frame) wrapper {
	return rewriteStream(askRoute, perFrame(func(f frame) []frame {
		if f.name == event {
			return change(f)
		}
		return []frame{f}
	}))
}

func shiftCitations(by float64) wrapper {
	return editAskPayload(protocol.EventCitation, func(o map[string]any) {
		o["answer_start"] = o["answer_start"].(float64) + by
		o["answer_end"] = o["answer_end"].(float64) + by
	})
}

func dropFrame(frame) []frame { return nil }

func askMutants() []mutant {
	return slices.Concat(doneMutants(), retrieveMutants(), answerMutants(), askRequestMutants())
}

func doneMutants() []mutant {
	return []mutant{
		{"done-lost", "an ask stream ends without done", replaceAskFrames(protocol.EventDone, dropFrame),
			[]string{"ask-ends"}, nil},
		{"done-twice", "an ask stream has two done events",
			replaceAskFrames(protocol.EventDone, func(f frame) []frame { return []frame{f, f} }),
			[]string{"ask-ends-once"}, nil},
		{"done-and-error", "an error follows done", replaceAskFrames(protocol.EventDone, func(f frame) []frame {
			return []frame{f, {"", protocol.EventError, `{"code":"x","message":"x","retryable":false}`}}
		}), []string{"ask-ends-once"}, nil},
		{"delta-after-done", "an answer_delta follows done",
			replaceAskFrames(protocol.EventDone, func(f frame) []frame {
				return []frame{f, {"", protocol.EventDelta, `{"delta":"."}`}}
			}), []string{"ask-delta-before-end", "ask-ends"},
			[]string{"ask-done-answer", "ask-empty-brain", "ask-citation-*"}},
	}
}

func retrieveMutants() []mutant {
	chunk := func(change func(o map[string]any)) wrapper {
		return editAskPayload(protocol.EventRetrieve, func(o map[string]any) {
			list, _ := o["chunks"].([]any)
			for _, c := range list {
				change(c.(map[string]any))
			}
		})
	}
	return []mutant{
		{"retrieve-lost", "an ask stream has no retrieve event", replaceAskFrames(protocol.EventRetrieve, dropFrame),
			[]string{"ask-retrieve"}, nil},
		{"ask-chunks-null", "the chunks in retrieve are null if nothing is found",
			editAskPayload(protocol.EventRetrieve, func(o map[string]any) {
				if list, ok := o["chunks"].([]any); ok && len(list) == 0 {
					o["chunks"] = nil
				}
			}), []string{"ask-retrieve-chunks-empty"}, nil},
		{"ask-camel-case", "the keys in retrieve are in camelCase",
			replaceAskFrames(protocol.EventRetrieve, func(f frame) []frame {
				f.data = strings.NewReplacer(`"chunk_id"`, `"chunkId"`, `"document_id"`, `"documentId"`).Replace(f.data)
				return []frame{f}
			}), []string{"ask-snake-case", "ask-chunk-id", "ask-chunk-document-id"},
			[]string{"ask-citation-retrieved"}},
		{"preview-long", "previews are longer than 512 characters",
			chunk(func(o map[string]any) { o["preview"] = strings.Repeat("é", 513) }),
			[]string{"ask-chunk-preview-512"}, nil},
		{"score-text", "the scores in retrieve are strings", chunk(func(o map[string]any) { o["score"] = "0.5" }),
			[]string{"ask-chunk-score"}, nil},
	}
}

func answerMutants() []mutant {
	return []mutant{
		{"delta-text", "answer_delta has text instead of delta",
			editAskPayload(protocol.EventDelta, func(o map[string]any) { o["text"] = o["delta"]; delete(o, "delta") }),
			[]string{"ask-delta", "ask-answers"}, []string{"ask-done-answer", "ask-citation-*"}},
		{"delta-bare", "the data of answer_delta is plain text",
			replaceAskFrames(protocol.EventDelta, func(f frame) []frame {
				f.data = "text"
				return []frame{f}
			}), []string{"ask-json"}, []string{"ask-*"}},
		{"citation-late", "the offsets of citations are one character too high", shiftCitations(1),
			[]string{"ask-citation-in-answer"}, []string{"ask-citation-*"}},
		{"citation-early", "the offsets of citations are one character too low", shiftCitations(-1),
			[]string{"ask-citation-offsets"}, []string{"ask-citation-*"}},
		{"citation-bytes", "the offsets of citations are in bytes", rewriteStream(askRoute, byteOffsets),
			[]string{"ask-citation-in-answer"}, []string{"ask-citation-*"}},
		{"citation-type-lost", "citations have no type",
			editAskPayload(protocol.EventCitation, func(o map[string]any) { delete(o, "type") }),
			[]string{"ask-citation-type"}, nil},
		{"citation-quote-invented", "the quotes of citations are not from the documents",
			editAskPayload(protocol.EventCitation, func(o map[string]any) { o["quote"] = "As everybody knows." }),
			[]string{"ask-citation-quote-from-document"}, nil},
		{"citation-unknown-chunk", "citations name chunks that were not retrieved",
			editAskPayload(protocol.EventCitation, func(o map[string]any) { o["chunk_id"] = "none" }),
			[]string{"ask-citation-retrieved"}, nil},
		{"done-other-answer", "the answer of done is not the concatenation of the deltas",
			editAskPayload(protocol.EventDone, func(o map[string]any) { o["answer"] = "no" }),
			[]string{"ask-done-answer"}, nil},
	}
}

func askRequestMutants() []mutant {
	return []mutant{
		{"ask-buffered", "POST /ask returns JSON instead of a stream",
			replace(askRoute, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", protocol.TypeJSON)
				_, _ = w.Write([]byte(`{"answer":"green"}`))
			}), []string{"ask-content-type", "ask-ends"}, []string{"ask-*", "limits-ask-*", "auth-*"}},
		{"ask-top-k-ignored", "an ask ignores top_k", before(askRoute, func(r *http.Request) {
			editBody(r, func(o map[string]any) { delete(o, "top_k"); delete(o, "topK") })
		}), []string{"ask-top-k"}, []string{"limits-ask-top-k-*"}},
	}
}

// byteOffsets converts the offsets of citations from code points to bytes.
func byteOffsets(*http.Request) func(frame) []frame {
	answer := ""
	return func(f frame) []frame {
		o, err := f.object()
		if err != nil {
			return []frame{f}
		}
		if f.name == protocol.EventDelta {
			answer += o["delta"].(string)
		}
		if f.name == protocol.EventCitation {
			text := []rune(answer)
			for _, name := range []string{"answer_start", "answer_end"} {
				o[name] = len(string(text[:int(o[name].(float64))]))
			}
			f.data = string(encode(o))
		}
		return []frame{f}
	}
}
