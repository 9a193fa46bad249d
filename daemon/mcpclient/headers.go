package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/jsonobj"
)

// versionOf returns the version of the protocol that a request names, "" before 2026-07-28.
func versionOf(call *jsonrpc.Request) string {
	params, err := jsonobj.Parse(call.Params)
	if err != nil {
		return ""
	}
	return params.Object("_meta").Text(mcp.MetaKeyProtocolVersion)
}

// headerTools are the arguments of tools that headers repeat, by tool and by header. The SDK leaves
// out tools whose schema has a header that is not allowed.
type headerTools struct {
	mu  sync.Mutex
	all map[string]map[string][]string // the path of the argument
}

// learn reads which arguments of the listed tools have a header.
func (h *headerTools) learn(result json.RawMessage) {
	o, err := jsonobj.Parse(result)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for element := range jsonobj.Elements(o.Get("tools")) {
		tool, err := jsonobj.Parse(element)
		if err != nil {
			continue
		}
		headers := map[string][]string{}
		collect(tool.Object("inputSchema").Object("properties"), nil, headers)
		if h.all == nil {
			h.all = map[string]map[string][]string{}
		}
		h.all[tool.Text("name")] = headers
	}
}

// mostNested limits how deep an argument with a header is looked for.
const mostNested = 32

func collect(properties jsonobj.Object, above []string, headers map[string][]string) {
	if len(above) == mostNested {
		return
	}
	for _, p := range properties {
		schema, err := jsonobj.Parse(p.Value)
		if err != nil {
			continue
		}
		path := append(append([]string{}, above...), string(p.Key))
		if header := schema.Text("x-mcp-header"); header != "" {
			headers[header] = path
		}
		collect(schema.Object("properties"), path, headers)
	}
}

// mirror sets the headers that repeat parts of a request, which servers require from version
// 2026-07-28 on.
func (h *headerTools) mirror(header http.Header, call *jsonrpc.Request) {
	version := versionOf(call)
	if version == "" {
		return
	}
	header.Set(versionHeader, version)
	header.Set("Mcp-Method", call.Method)
	params, _ := jsonobj.Parse(call.Params) // versionOf has parsed it
	if call.Method != methodCall {
		return
	}
	name := params.Text("name")
	header.Set("Mcp-Name", headerValue(name))
	h.mu.Lock()
	headers := h.all[name]
	h.mu.Unlock()
	for suffix, path := range headers {
		arguments := params.Object("arguments")
		for _, key := range path[:len(path)-1] {
			arguments = arguments.Object(key)
		}
		if text, ok := primitive(arguments.Get(path[len(path)-1])); ok {
			header.Set("Mcp-Param-"+suffix, headerValue(text))
		}
	}
}

// primitive returns the text of a string, a boolean, or a whole number that every client can send.
func primitive(value json.RawMessage) (string, bool) {
	if text, ok := jsonobj.String(value); ok {
		return text, true
	}
	if text := string(value); text == "true" || text == "false" {
		return text, true
	}
	const most = 1<<53 - 1
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != float64(int64(f)) || f > most || f < -most {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// headerValue returns a text as the value of a header, in base64 if it cannot be sent unchanged.
func headerValue(text string) string {
	const begin, end = "=?base64?", "?="
	plain := strings.TrimSpace(text) == text && (!strings.HasPrefix(text, begin) || !strings.HasSuffix(text, end))
	for _, r := range text {
		plain = plain && r >= 0x20 && r <= 0x7e
	}
	if plain {
		return text
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(text)) + end
}
