package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
)

// sentinelPath is what the checks write last.
const sentinelPath = "sentinel.md"

var eventsRoute = route("GET /events")

// replaceEventFrames replaces the frames of change streams one by one.
func replaceEventFrames(change func(frame) []frame) wrapper {
	return rewriteStream(eventsRoute, perFrame(change))
}

// editEventPayload changes the payloads of change events.
func editEventPayload(edit func(o map[string]any)) wrapper {
	return rewriteStream(eventsRoute, editPayload(protocol.EventChange, edit))
}

func streamHeader(name, value string) wrapper {
	return replace(eventsRoute, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&headerWriter{ResponseWriter: w, name: name, value: value}, r)
	})
}

func eventMutants() []mutant {
	return slices.Concat(readyMutants(), idMutants(), changeMutants(), deliveryMutants(), replayMutants())
}

func readyMutants() []mutant {
	return []mutant{
		{"events-json", "the media type of the change stream is application/json",
			streamHeader("Content-Type", "application/json"), []string{"events-content-type"}, nil},
		{"events-storable", "the change stream has no Cache-Control: no-cache", streamHeader("Cache-Control", ""),
			[]string{"events-no-cache"}, nil},
		{"events-own-file", "changes of a file that the daemon added are reported", ownEvents(),
			[]string{"events-only-documents"}, nil},
		{"ready-lost", "the change stream has no ready frame", replaceEventFrames(func(f frame) []frame {
			if f.name == protocol.EventReady {
				return nil
			}
			return []frame{f}
		}), []string{"events-ready"}, []string{"events-*"}},
		{"ready-again", "a ready frame precedes every change", replaceEventFrames(func(f frame) []frame {
			return []frame{{f.id, protocol.EventReady, "ok"}, f}[map[bool]int{true: 1}[f.name == protocol.EventReady]:]
		}), []string{"events-ready-once"}, []string{"events-*"}},
		{"ready-object", "the data of ready is a JSON object", replaceEventFrames(func(f frame) []frame {
			if f.name == protocol.EventReady {
				f.data = `{"ok":true}`
			}
			return []frame{f}
		}), []string{"events-ready-data"}, nil},
		{"ready-early", "ready is sent before the subscription is active",
			rewriteStream(eventsRoute, func(*http.Request) func(frame) []frame {
				n := 0
				return func(f frame) []frame {
					if n++; n == 2 { // lose the first change
						return nil
					}
					return []frame{f}
				}
			}), []string{"events-ready-attached", "events-created"}, []string{"events-*"}},
	}
}

func deliveryMutants() []mutant {
	return []mutant{
		{"events-lost", "deletions are not reported", replaceEventFrames(func(f frame) []frame {
			if strings.Contains(f.data, `"kind":"deleted"`) {
				return nil
			}
			return []frame{f}
		}), []string{"events-deleted"}, []string{"events-*"}},
		{"events-unordered", "each pair of events is swapped", rewriteStream(eventsRoute, swapPairs),
			[]string{"events-commit-order", "events-batch"}, []string{"events-*"}},
		{"events-twice", "every event is sent twice", replaceEventFrames(func(f frame) []frame {
			if f.name == protocol.EventChange {
				n, _ := strconv.Atoi(f.id)
				return []frame{{strconv.Itoa(2 * n), f.name, f.data}, {strconv.Itoa(2*n + 1), f.name, f.data}}
			}
			return []frame{f}
		}), []string{"events-created", "events-batch"}, []string{"events-*"}},
	}
}

func idMutants() []mutant {
	return []mutant{
		{"ids-constant", "every frame has the same id",
			replaceEventFrames(func(f frame) []frame { f.id = "1"; return []frame{f} }),
			[]string{"events-ids-increase", "events-ids-all"}, nil},
		{"ids-lost", "changes have no ids", replaceEventFrames(func(f frame) []frame {
			if f.name == protocol.EventChange {
				f.id = ""
			}
			return []frame{f}
		}), []string{"events-ids-all", "events-ids-increase"}, nil},
		{"ids-falling", "ids decrease", replaceEventFrames(func(f frame) []frame {
			n, _ := strconv.Atoi(f.id)
			f.id = strconv.Itoa(1_000_000 - n)
			return []frame{f}
		}), []string{"events-ids-increase"}, nil},
		{"ids-ready-high", "the id of ready is 1000000", replaceReadyID(func(int) int { return 1_000_000 }),
			[]string{"events-ids-increase"}, nil},
		{"ids-ready-repeated", "ready has the id of the first change", replaceReadyID(func(n int) int { return n + 1 }),
			[]string{"events-ids-increase", "events-ids-all"}, nil},
	}
}

func replaceReadyID(change func(n int) int) wrapper {
	return replaceEventFrames(func(f frame) []frame {
		if f.name == protocol.EventReady {
			n, _ := strconv.Atoi(f.id)
			f.id = strconv.Itoa(change(n))
		}
		return []frame{f}
	})
}

func changeMutants() []mutant {
	return []mutant{
		{"reason-lost", "events have no reason", editEventPayload(func(o map[string]any) { delete(o, "reason") }),
			[]string{"events-batch-reason"}, nil},
		{"old-path-lost", "renames have no old_path",
			editEventPayload(func(o map[string]any) { delete(o, "old_path") }),
			[]string{"events-renamed-old-path", "events-batch-old-path"}, nil},
		{"old-path-always", "every event has old_path",
			editEventPayload(func(o map[string]any) { o["old_path"] = o["path"] }),
			[]string{"events-old-path-only-renamed"}, []string{"events-renamed-old-path", "events-batch-old-path"}},
		{"old-path-camel-case", "old_path is oldPath", replaceEventFrames(func(f frame) []frame {
			f.data = strings.Replace(f.data, `"old_path"`, `"oldPath"`, 1)
			return []frame{f}
		}), []string{"events-snake-case", "events-renamed-old-path"}, []string{"events-batch-old-path"}},
		{"when-number", "when is a number", editEventPayload(func(o map[string]any) { o["when"] = 1700000000 }),
			[]string{"events-when"}, nil},
		{"created-updated", "a new document is reported as updated", replaceEventFrames(func(f frame) []frame {
			f.data = strings.Replace(f.data, `"kind":"created"`, `"kind":"updated"`, 1)
			return []frame{f}
		}), []string{"events-created", "events-append-created"}, []string{"events-*"}},
		{"renamed-as-two", "a rename is reported as created and deleted", replaceEventFrames(func(f frame) []frame {
			o, err := f.object()
			if err != nil || o["kind"] != "renamed" {
				return []frame{f}
			}
			n, _ := strconv.Atoi(f.id)
			gone := object{"kind": "deleted", "path": o["old_path"], "when": o["when"], "reason": o["reason"]}
			made := object{"kind": "created", "path": o["path"], "when": o["when"], "reason": o["reason"]}
			return []frame{{strconv.Itoa(n), f.name, string(encode(made))},
				{strconv.Itoa(n), f.name, string(encode(gone))}}
		}), []string{"events-renamed"}, []string{"events-*"}},
	}
}

func replayMutants() []mutant {
	return []mutant{
		{"batch-reported-once", "only the first event of a batch is sent",
			rewriteStream(eventsRoute, func(*http.Request) func(frame) []frame {
				last := ""
				return func(f frame) []frame {
					o, err := f.object()
					if err == nil && o["reason"] != nil && o["reason"] == last {
						return nil
					}
					if err == nil {
						last, _ = o["reason"].(string)
					}
					return []frame{f}
				}
			}), []string{"events-batch", "events-batch-large"}, []string{"events-batch-*"}},
		{"replay-from-id", "Last-Event-ID replays earlier events",
			rewriteStream(eventsRoute, func(r *http.Request) func(frame) []frame {
				return func(f frame) []frame {
					if f.name == protocol.EventReady && r.Header.Get("Last-Event-ID") != "" {
						return []frame{f,
							{"1", protocol.EventChange,
								`{"kind":"created","path":"a.md","when":"2024-01-01T00:00:00.000Z"}`}}
					}
					return []frame{f}
				}
			}), []string{"events-last-event-id"}, nil},
		{"replay", "a new stream begins with an earlier event",
			rewriteStream(eventsRoute, func(*http.Request) func(frame) []frame {
				return func(f frame) []frame {
					if f.name == protocol.EventReady {
						return []frame{f,
							{"1", protocol.EventChange,
								`{"kind":"created","path":"old.md","when":"2024-01-01T00:00:00.000Z"}`}}
					}
					return []frame{f}
				}
			}), []string{"events-no-replay"}, []string{"events-*"}},
		{"stream-ends", "the change stream ends after one change",
			replace(eventsRoute, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				f := &frameWriter{ResponseWriter: w}
				n := 0
				f.change = func(fr frame) []frame {
					if n++; n > 2 {
						panic(http.ErrAbortHandler)
					}
					return []frame{fr}
				}
				next.ServeHTTP(f, r)
			}), []string{"events-stays-open"}, nil},
		{"rejected-reported", "a rejected delete is reported", replaceEventFrames(func(f frame) []frame {
			if strings.Contains(f.data, sentinelPath) {
				return []frame{{f.id, f.name, `{"kind":"deleted","path":"none.md","when":"2024-01-01T00:00:00.000Z"}`},
					f}
			}
			return []frame{f}
		}), []string{"events-refused-silent", "events-failed-silent", "events-read-silent"}, []string{"events-*"}},
	}
}

// swapPairs swaps each change with the one after it.
func swapPairs(*http.Request) func(frame) []frame {
	var held []frame
	return func(f frame) []frame {
		if f.name != protocol.EventChange {
			return []frame{f}
		}
		if held == nil && !strings.Contains(f.data, sentinelPath) {
			held = []frame{f}
			return nil
		}
		out := append([]frame{f}, held...)
		held = nil
		return out
	}
}

// headerWriter sets a header just before the response is flushed, or removes it if value is "".
type headerWriter struct {
	http.ResponseWriter
	name, value string
}

func (w *headerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *headerWriter) FlushError() error {
	if w.value == "" {
		w.Header().Del(w.name)
	} else {
		w.Header().Set(w.name, w.value)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}
