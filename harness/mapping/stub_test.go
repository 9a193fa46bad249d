package mapping

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/launch"
	"evalctl/harness/target"
	"evalctl/internal/lockfile"
	"evalctl/internal/longtest"
)

// TestMain runs the tests or, with the arguments "stub FLAW", the MCP server that they start.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "watchdog" {
		_ = launch.Watchdog(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "stub" {
		stub(os.Args[2])
		return
	}
	longtest.Parallel(4) // most slow tests wait for a silent server
	goleak.VerifyTestMain(m)
}

// stub is an MCP server that remembers texts in the file notes.json of $HOME_DIR, and finds those that
// contain the query. flaw is what is wrong with it, "none" for nothing.
func stub(flaw string) {
	if flaw == "silent" {
		time.Sleep(time.Minute)
	}
	if flaw == "stays" {
		signal.Ignore(syscall.SIGTERM)
	}
	if flaw == "exclusive" { // holds a lock for a while after its input is closed
		lock, err := lockfile.Open(filepath.Join(os.Getenv("HOME_DIR"), "lock"), os.O_CREATE|os.O_RDWR, errors.New("the store is in use"))
		if err != nil {
			fmt.Fprintln(os.Stderr, "stub:", err)
			os.Exit(4)
		}
		defer lock.Close()
		defer time.Sleep(1500 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "stub: ready with the flaw", flaw)
	if flaw == "noisy" {
		fmt.Println("Welcome to the stub! token=s3cret-token")
		fmt.Println(`{"level":30,"msg":"a log line"}`)
	}
	if flaw == "no server" {
		fmt.Println("usage: stub [options]")
		os.Exit(3)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var call struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments map[string]any
			}
		}
		if err := json.Unmarshal(in.Bytes(), &call); err != nil || call.ID == nil || flaw == "mute" {
			continue
		}
		var reply any
		switch call.Method {
		case "initialize":
			reply = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "stub", "version": "7"}}
		case "tools/list":
			reply = map[string]any{"tools": stubTools(flaw)}
		case "tools/call":
			reply = stubCall(flaw, call.Params.Name, call.Params.Arguments)
		}
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": reply})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(data))
	}
	if flaw == "stays" {
		time.Sleep(time.Minute)
	}
}

func stubTools(flaw string) []any {
	type object = map[string]any
	text := object{"type": "string"}
	note := object{"type": "object", "properties": object{"key": text, "body": text, "day": text}, "required": []string{"key", "body"}}
	add := object{"name": "add", "inputSchema": object{"type": "object", "properties": object{"note": note}, "required": []string{"note"}}}
	words := func(required ...string) any {
		return object{"type": "object", "properties": object{"words": text, "limit": object{"type": "integer"}}, "required": required}
	}
	find := object{"name": "find", "inputSchema": words("words")}
	forget := object{"name": "forget", "inputSchema": object{"type": "object", "properties": object{"key": text}, "required": []string{"key"}}}
	switch flaw {
	case "number ids":
		forget["inputSchema"] = object{"type": "object", "properties": object{"key": object{"type": "integer"}}, "required": []string{"key"}}
	case "broken schema":
		find["inputSchema"] = text
	case "more required":
		find["inputSchema"] = words("words", "project")
	case "no search":
		return []any{add}
	case "copied": // the tools of server-memory without the schema of an entity
		list := object{"type": "array"}
		return []any{
			object{"name": "create_entities", "inputSchema": object{"type": "object", "properties": object{"entities": list}, "required": []string{"entities"}}},
			object{"name": "search_nodes", "inputSchema": object{"type": "object", "properties": object{"query": text}, "required": []string{"query"}}},
			object{"name": "delete_entities", "inputSchema": object{"type": "object", "properties": object{"entityNames": list}, "required": []string{"entityNames"}}},
		}
	case "echoes": // its first tool remembers nothing, and a search that finds nothing repeats the query
		place := object{"name": "remember_place", "inputSchema": object{"type": "object", "properties": object{"text": text}, "required": []string{"text"}}}
		return []any{place, find, forget, add}
	}
	return []any{find, forget, add}
}

type stubNote struct {
	Key, Body, Day string
}

func stubCall(flaw, tool string, args map[string]any) any {
	path := filepath.Join(os.Getenv("HOME_DIR"), "notes.json")
	var notes []stubNote
	if data, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(data, &notes); err != nil {
			panic(err)
		}
	}
	text := func(v any) any {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": string(data)}}}
	}
	save := func() {
		data, err := json.Marshal(notes)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
	switch tool {
	case "create_entities":
		entities, _ := args["entities"].([]any)
		entity, _ := entities[0].(map[string]any)
		observations, ok := entity["observations"].([]any)
		if !ok {
			return text("blocked: no observations")
		}
		tool, args = "add", map[string]any{"note": map[string]any{"key": entity["name"], "body": observations[0]}}
	case "search_nodes":
		args = map[string]any{"words": args["query"]}
	case "delete_entities":
		names, _ := args["entityNames"].([]any)
		tool, args = "forget", map[string]any{"key": names[0]}
	}
	switch tool {
	case "add":
		note, _ := args["note"].(map[string]any)
		key, _ := note["key"].(string)
		body, _ := note["body"].(string)
		day, _ := note["day"].(string)
		switch flaw {
		case "own ids":
			key = fmt.Sprintf("n-%d", len(notes)+1)
		case "number ids":
			key = fmt.Sprint(len(notes) + 1)
		}
		notes = append(notes, stubNote{key, body, day})
		save()
		return text(map[string]any{"key": keyOf(flaw, key)})
	case "remember_place":
		return text(map[string]any{"place": "known"})
	case "forget":
		if key, number := args["key"].(float64); number {
			args["key"] = fmt.Sprint(key)
		} else if flaw == "number ids" {
			return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "key: Expected number, received string"}}}
		}
		var left []stubNote
		for _, n := range notes {
			if n.Key != args["key"] {
				left = append(left, n)
			}
		}
		notes = left
		save()
		return text("gone")
	}
	words, _ := args["words"].(string)
	switch flaw {
	case "dies":
		fmt.Fprintln(os.Stderr, "stub: out of memory, s3cret-token")
		os.Exit(9)
	case "hangs":
		time.Sleep(time.Minute)
	case "slow":
		time.Sleep(50 * time.Millisecond)
	case "fails":
		return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "the index is broken"}}}
	}
	hits := []any{}
	lines := []string{}
	for i, n := range notes {
		if flaw != "nearest" && !strings.Contains(strings.ToLower(n.Body), strings.ToLower(words)) {
			continue
		}
		hit := map[string]any{"body": n.Body, "key": keyOf(flaw, n.Key), "day": n.Day, "rank": map[string]any{"score": 1 / float64(i+1)}}
		if flaw == "no ids" {
			delete(hit, "key")
		}
		hits = append(hits, hit)
		lines = append(lines, "- "+n.Body)
	}
	if (flaw == "echoes" || flaw == "nearest") && len(hits) == 0 {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "No results for '" + words + "'. Try others."}}}
	}
	switch flaw {
	case "plain text":
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "Found:\n" + strings.Join(lines, "\n")}}}
	case "structured":
		return map[string]any{"content": []any{}, "structuredContent": map[string]any{"hits": hits}}
	}
	return text(map[string]any{"hits": hits})
}

// keyOf returns a key of a note in JSON.
func keyOf(flaw, key string) any {
	if flaw == "number ids" {
		return json.Number(key)
	}
	return key
}

// stubMapping is how the stub is used.
const stubMapping = `name: stub
brains: process
env: {HOME_DIR: "{home}"}
remember:
  tool: add
  arguments: {note: {key: "{id}", body: "{text}", day: "{date}"}}
  reply: {id: $.key}
search:
  tool: find
  arguments: {words: "{query}"}
  reply: {items: "$.hits[*]", text: $.body, id: $.key, score: $.rank.score, date: $.day}
delete: {tool: forget, arguments: {key: "{id}"}}
`

// stubProfile starts the stub.
func stubProfile(flaw string) launch.Profile {
	return launch.Profile{Command: []string{os.Args[0], "stub", flaw}}
}

// watchdog is that of launch.Options.
var watchdog = []string{os.Args[0], "watchdog"}

func parsed(tb testing.TB, text string) *Mapping {
	tb.Helper()
	m, err := Parse("m.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// openStub starts the stub with a mapping.
func openStub(tb testing.TB, flaw, mapping string) (*Service, error) {
	tb.Helper()
	dir := tb.TempDir()
	s, err := Open(context.Background(), Config{
		Mapping: parsed(tb, mapping), Profile: stubProfile(flaw), Concurrency: 4, Token: "s3cret-token",
		Launch: launch.Options{Watchdog: watchdog, Home: filepath.Join(dir, "home"), LogPath: filepath.Join(dir, "log"), HealthTimeout: 20 * time.Second},
	})
	if err == nil {
		tb.Cleanup(s.Close)
	}
	return s, err
}

func mustOpenStub(tb testing.TB, flaw, mapping string) *Service {
	tb.Helper()
	s, err := openStub(tb, flaw, mapping)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// create creates a brain and returns the store.
func create(tb testing.TB, s *Service, name string) target.Store {
	tb.Helper()
	st := s.Store("")
	if _, err := st.Create(tb.Context(), name); err != nil {
		tb.Fatal(err)
	}
	return st
}
