package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf16"

	"evalctl/harness/daemontest"
)

// echoed is a secret in the environment of evalctl. Nothing else has its first word.
const (
	echoedName = "ECHO_VENDOR_API_KEY"
	echoed     = `sk-echoed/key+9"f<8e7d`
)

// environmentText is the environment of this process as a program shows it that shows everything.
func environmentText() string {
	key := os.Getenv(echoedName)
	return strings.Join(os.Environ(), "\n") + "\n" + base64.StdEncoding.EncodeToString([]byte("user:"+key))
}

// noteEnvironment writes the environment of this process to the file of the last argument.
func noteEnvironment() {
	f, err := os.OpenFile(os.Args[len(os.Args)-1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(environmentText() + "\n")
	}
	if err != nil {
		panic(err)
	}
	f.Close()
	fmt.Fprintln(os.Stderr, environmentText())
}

// jsonText returns a text as JSON.
func jsonText(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// oddText is jsonText with an escape for each character.
func oddText(text string) string {
	var out strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&out, `\u%04x`, unit)
	}
	return `"` + out.String() + `"`
}

// echoDaemon is a daemon that sends its environment wherever it can, also in two parts. Its
// arguments are its address, and a file that gets its environment.
func echoDaemon() {
	noteEnvironment()
	key, all, odd := os.Getenv(echoedName), jsonText(environmentText()), oddText(environmentText())
	half := len(key) / 2
	failed := false
	err := http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		chunks := `{"chunks":[{"chunk_id":` + all + `,"document_id":` + all + `,"path":` + all + `,"text":` + odd + `,"score":1}],"effective_mode":"bm25","total":1}`
		w.Header().Set("X-Key", strings.NewReplacer("\n", " ").Replace(key))
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/ask") && !failed:
			failed = true
			http.Error(w, environmentText(), http.StatusBadRequest)
		case strings.HasSuffix(path, "/ask"):
			daemontest.Stream(w, daemontest.Event("retrieve", chunks)+
				daemontest.Event("answer_delta", `{"delta":`+jsonText("the key is "+key[:half])+`}`)+
				daemontest.Event("answer_delta", `{"delta":`+jsonText(key[half:]+" indeed")+`}`)+
				daemontest.Event("citation", `{"type":"citation","quote":`+odd+`}`)+daemontest.Event("done", `{"ok":true,"model":`+all+`}`))
		case strings.HasSuffix(path, "/batch-ops"):
			fmt.Fprintf(w, `{"committed":%d}`, strings.Count(string(body), `"path"`))
		case strings.HasSuffix(path, "/search"):
			fmt.Fprint(w, chunks)
		case path == "/v1/brains" && r.Method == http.MethodPost:
			var brain struct{ Name json.RawMessage }
			_ = json.Unmarshal(body, &brain)
			fmt.Fprintf(w, `{"id":%s,"version":%s}`, brain.Name, all)
		default:
			fmt.Fprint(w, `{"ok":true,"version":`+all+`,"id":"notes","items":[{"id":"notes"}]}`)
		}
	}))
	fmt.Fprintln(os.Stderr, err)
}

// echoTools is an MCP server that replies with its environment. Its argument is a file that gets its
// environment.
func echoTools() {
	noteEnvironment()
	fmt.Println("Welcome! " + os.Getenv(echoedName))
	all, bodies := environmentText(), ""
	type object = map[string]any
	text := object{"type": "string"}
	tool := func(name, argument string) object {
		return object{"name": name, "description": all, "inputSchema": object{"type": "object", "properties": object{argument: text}}}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var call struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Body string } }
		}
		if err := json.Unmarshal(in.Bytes(), &call); err != nil || call.ID == nil {
			continue
		}
		var reply any
		switch call.Method {
		case "initialize":
			reply = object{"protocolVersion": "2025-06-18", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": all, "version": all}}
		case "tools/list":
			reply = object{"tools": []any{tool("add", "body"), tool("find", "words")}}
		case "tools/call":
			if body := call.Params.Arguments.Body; body != "" {
				bodies += `{"body":` + jsonText(body) + `},`
			}
			reply = object{"content": []any{object{"type": "text", "text": "[" + bodies + `{"body":` + oddText(all) + `}]`}}}
		}
		data, err := json.Marshal(object{"jsonrpc": "2.0", "id": call.ID, "result": reply})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(data))
	}
}

// echoScorer is a scorer whose reasons are its environment. Its argument is a file that gets its
// environment.
func echoScorer() {
	noteEnvironment()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for n := 0; in.Scan(); n++ {
		var r struct{ ID int }
		_ = json.Unmarshal(in.Bytes(), &r) // the handshake has none
		switch n {
		case 0:
			fmt.Println(`{"protocol":1,"name":"echo","version":"1","needs":[]}`)
		case 1:
			fmt.Printf(`{"id":%d,"error":%s}`+"\n", r.ID, jsonText(environmentText()))
		default:
			fmt.Printf(`{"id":%d,"score":0,"reason":%s}`+"\n", r.ID, oddText(environmentText()))
		}
	}
}
