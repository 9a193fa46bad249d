package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon"
)

// hostileTexts are texts that a database, a file system or git may not accept.
var hostileTexts = map[string]string{
	"NUL": "a\x00b", "NUL alone": "\x00", "invalid UTF-8": "a\xffb", "half a letter": "\xc3",
	"surrogate": "\xed\xa0\x80", "control": "a\x01\x1b\x7fb", "no character": "a\ufffe\uffffb", "long": strings.Repeat("é", 40_000),
	"quotes": `a'"` + "`" + `$1%s\`, "folders": strings.Repeat("a/", 300) + "b", "lines": "a\r\nb\u2028c", "empty": "",
}

// description is the part of openapi.json that hostile requests are made of.
type description struct {
	Paths map[string]map[string]struct {
		Parameters  []parameter
		RequestBody struct {
			Content map[string]struct{ Example json.RawMessage }
		}
	}
	Components struct{ Parameters map[string]parameter }
}

type parameter struct {
	Name, In string
	Ref      string `json:"$ref"`
	Example  any
}

// exchange is a request of openapi.json.
type exchange struct {
	method, path string
	params       map[string]map[string]string // by where they are, and by name
	contentType  string
	body         []byte
}

// exchanges returns a request of each operation, with its examples.
func (d description) exchanges(t *testing.T) (list []exchange) {
	t.Helper()
	for path, operations := range d.Paths {
		for method, o := range operations {
			x := exchange{method: strings.ToUpper(method), path: path, params: map[string]map[string]string{"path": {}, "query": {}, "header": {}}}
			for _, p := range o.Parameters {
				if p.Ref != "" {
					p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				if p.Example != nil {
					x.params[p.In][p.Name] = fmt.Sprint(p.Example)
				} else {
					x.params[p.In][p.Name] = ""
				}
			}
			for _, contentType := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
				if example := o.RequestBody.Content[contentType].Example; example != nil {
					x.contentType, x.body = contentType, example
				}
			}
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b exchange) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return list
}

// variants yields the request once for each of its texts, which is replaced by another one.
func (x exchange) variants(text string, send func(what string, v exchange)) {
	for in, params := range x.params {
		for name := range params {
			v := x
			v.params = maps.Clone(x.params)
			v.params[in] = maps.Clone(params)
			v.params[in][name] = text
			send(in+" "+name, v)
		}
	}
	for _, header := range []string{"Authorization", "X-Request-Id", "X-Tenant-Id", "Idempotency-Key", "Last-Event-ID", "User-Agent", "Accept"} {
		v := x
		v.params = maps.Clone(x.params)
		v.params["header"] = map[string]string{header: text}
		send("header "+header, v)
	}
	var body any
	if !strings.Contains(x.contentType, "json") || json.Unmarshal(x.body, &body) != nil {
		return
	}
	replaceTexts(body, "", func(where string, set func(string)) {
		set("hostile text")
		v := x
		data, _ := json.Marshal(body)
		v.body = []byte(strings.Replace(string(data), `"hostile text"`, quoted(text), 1))
		send("body "+where, v)
	})
}

// quoted is JSON of a text, with its invalid bytes as they are.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == '"' || c == '\\':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// replaceTexts calls visit for each text of a JSON value, and for the keys of its objects. After
// each call, what set has set is as it was.
func replaceTexts(value any, where string, visit func(where string, set func(string))) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			was := v[key]
			if _, ok := was.(string); ok {
				visit(where+"."+key, func(text string) { v[key] = text })
				v[key] = was
			}
			visit(where+" key "+key, func(text string) { delete(v, key); v[text] = was })
			clear(v)
			maps.Copy(v, map[string]any{key: was})
			replaceTexts(was, where+"."+key, visit)
		}
	case []any:
		for i, was := range v {
			if _, ok := was.(string); ok {
				visit(where+"[]", func(text string) { v[i] = text })
				v[i] = was
			}
			replaceTexts(was, where+"[]", visit)
		}
	}
}

func (x exchange) send(ctx context.Context, base string) (*http.Response, error) {
	path := x.path
	for name, value := range x.params["path"] {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	query := url.Values{}
	for name, value := range x.params["query"] {
		if value != "" {
			query.Set(name, value)
		}
	}
	req, err := http.NewRequestWithContext(ctx, x.method, base+path+"?"+query.Encode(), strings.NewReader(string(x.body)))
	if err != nil {
		return nil, err
	}
	for name, value := range x.params["header"] {
		req.Header.Set(name, strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return '?' // net/http does not send it, and the server never sees it
			}
			return r
		}, value[:min(len(value), 1000)]))
	}
	if x.contentType != "" {
		req.Header.Set("Content-Type", x.contentType)
	}
	return http.DefaultClient.Do(req)
}

// TestHostileTexts sends texts that stores may not accept in every parameter and every text of every
// request that openapi.json describes. None is the daemon's fault.
func TestHostileTexts(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>There are six cups.</p>")
	}))
	t.Cleanup(page.Close)
	// A store in memory accepts any text.
	for _, kind := range []string{daemon.StoreFS, daemon.StoreGit, daemon.StorePostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := serve(t, configOf(t, kind))
			var api description
			if err := json.Unmarshal([]byte(d.expect(t, 200, "GET", "/openapi.json", "", "")), &api); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, x := range api.exchanges(t) {
				d.send(t, "POST", "/v1/brains", "application/json", `{"id":"notes"}`) // unless it is still there
				d.expect(t, 204, "PUT", "/v1/brains/notes/documents?path=kettle.md", octets, "The kettle is blue.")
				x.body = []byte(strings.ReplaceAll(string(x.body), "https://example.com", page.URL))
				for name, text := range hostileTexts {
					x.variants(text, func(what string, v exchange) {
						n++
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						res, err := v.send(ctx, d.url)
						if err != nil {
							t.Fatalf("%s %s with %s in %s: %v", v.method, v.path, name, what, err)
						}
						defer res.Body.Close()
						if strings.HasSuffix(v.path, "/events") && res.StatusCode == 200 {
							return
						}
						data, err := io.ReadAll(res.Body)
						if res.StatusCode >= 500 || err != nil {
							t.Errorf("%s %s with %s in %s: got %d %.300s, %v", v.method, v.path, name, what, res.StatusCode, data, err)
						}
						if strings.HasPrefix(string(data), "event:") && strings.Contains(string(data), `"internal_error"`) {
							t.Errorf("%s %s with %s in %s: got %.300s", v.method, v.path, name, what, data)
						}
					})
				}
			}
			t.Logf("%d requests", n)
			d.expect(t, 200, "GET", "/v1/brains", "", "")
		})
	}
}
