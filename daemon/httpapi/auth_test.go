package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/goldentest"
	"evalctl/internal/llm"
)

// testKeys are the keys of the tests. The token of a key is tokenOf(its name).
var testKeys = []Key{
	{Name: "reader", Tenant: "acme", Brains: []string{"*"}, Roles: []string{"reader"}},
	{Name: "writer", Tenant: "acme", Brains: []string{"*"}, Roles: []string{"writer"}},
	{Name: "admin", Tenant: "acme", Brains: []string{"*"}, Roles: []string{"admin"}},
	{Name: "searcher", Tenant: "acme", Brains: []string{"*"}, Scopes: []string{"search"}},
	{Name: "operator", Tenant: "acme", Brains: []string{"*"}, Scopes: []string{"admin"}},
	{Name: "listed", Tenant: "acme", Brains: []string{"eval", "mine"}, Roles: []string{"admin"}},
	{Name: "other", Tenant: "globex", Brains: []string{"*"}, Roles: []string{"admin"}},
	{Name: "slow", Tenant: "acme", Brains: []string{"*"}, Roles: []string{"reader"}, Rate: &Rate{PerSecond: 0.01, Burst: 2}},
}

func tokenOf(name string) string { return "evk_token-of-" + name }

func keysOf(t testing.TB, list []Key) *Keys {
	t.Helper()
	file := keysFile{Keys: slices.Clone(list)}
	for i := range file.Keys {
		file.Keys[i].SHA256 = HashToken(tokenOf(file.Keys[i].Name))
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys("keys.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// startKeyed serves brains of two tenants, and one that was created without keys.
func startKeyed(t testing.TB) *server {
	t.Helper()
	s := startWith(t, llm.NewFake(), llm.FakeModel, keysOf(t, testKeys))
	for id, tenant := range map[string]string{"eval": "acme", "second": "acme", "theirs": "globex", "old": ""} {
		if _, err := s.brains.Create(t.Context(), tenant, protocol.CreateBrain{ID: id}); err != nil {
			t.Fatal(err)
		}
		st := s.open(t, id)
		if err := st.Write(t.Context(), "a.md", []byte("The kettle is green.")); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// as adds the token of a key to headers.
func as(key string, headers ...string) []string {
	return append([]string{"Authorization", "Bearer " + tokenOf(key)}, headers...)
}

// status sends a request and returns the status of its response.
func (s *server) status(t testing.TB, method, target, body string, headers ...string) int {
	t.Helper()
	resp := s.do(t, method, target, body, headers...)
	resp.Body.Close()
	return resp.StatusCode
}

func TestEveryRouteHasAScope(t *testing.T) {
	for _, rt := range routes {
		if rt.scope != scopeOpen && rt.scope != scopeKey && !slices.Contains(Scopes(), string(rt.scope)) {
			t.Errorf("%s: no key can have the scope %q", rt.pattern, rt.scope)
		}
		if operations[rt.operation].allowed == "" {
			t.Errorf("%s: the operation %s does not say who is allowed to use it", rt.pattern, rt.operation)
		}
	}
	if len(operations) != len(routes) {
		t.Errorf("there are %d operations and %d routes", len(operations), len(routes))
	}
}

// TestRolesAndRoutes sends an empty request with each key to every route: one that is allowed
// gets past the authorization, whatever the response is then.
func TestRolesAndRoutes(t *testing.T) {
	s := startKeyed(t)
	who := map[string][]string{"nobody": nil, "wrong": as("stranger")}
	for _, key := range []string{"reader", "writer", "admin", "searcher", "operator"} {
		who[key] = as(key)
	}
	for _, rt := range routes {
		target := strings.ReplaceAll(rt.path(), "{id}", "eval")
		in := strings.Fields(operations[rt.operation].allowed)
		for name, headers := range who {
			refused := 403
			if name == "nobody" {
				refused = 401
			}
			got := s.status(t, rt.method(), target, "", headers...)
			if may := slices.Contains(in, name); may == (got == 401 || got == 403) || !may && got != refused {
				t.Errorf("%s as %s: got %d, allowed is %v", rt.pattern, name, got, may)
			}
		}
	}
}

// TestBrainsOfOthers requests every kind of brain with every key.
func TestBrainsOfOthers(t *testing.T) {
	s := startKeyed(t)
	mine := map[string]string{
		"reader": "eval second", "writer": "eval second", "admin": "eval old second",
		"listed": "eval", "other": "old theirs",
	}
	for key, brains := range mine {
		for _, id := range []string{"eval", "second", "theirs", "old", "missing", "Bad_Id", "mine"} {
			want := http.StatusForbidden
			if slices.Contains(strings.Fields(brains), id) {
				want = http.StatusOK
			}
			for _, target := range []string{"", "/documents?dir=", "/documents/read?path=a.md", "/search?q=kettle"} {
				// The reserved headers have no effect.
				headers := as(key, "X-Tenant-Id", "globex", "X-Workspace-Id", "\"\\")
				if got := s.status(t, "GET", "/v1/brains/"+id+target, "", headers...); got != want {
					t.Errorf("%s on %s%s: got %d, want %d", key, id, target, got, want)
				}
			}
		}
		list := decoded[protocol.BrainList](t, s.expect(t, 200, "GET", "/v1/brains", "", as(key)...))
		var ids []string
		for _, b := range list.Items {
			ids = append(ids, b.ID)
		}
		if got := strings.Join(ids, " "); got != brains {
			t.Errorf("%s lists %q, want %q", key, got, brains)
		}
	}
}

// TestMissingLooksLikeForeign: the responses differ only in the requested name.
func TestMissingLooksLikeForeign(t *testing.T) {
	s := startKeyed(t)
	foreign := s.expect(t, 403, "GET", "/v1/brains/theirs", "", as("admin")...)
	missing := s.expect(t, 403, "GET", "/v1/brains/nobody", "", as("admin")...)
	if strings.ReplaceAll(foreign, "theirs", "X") != strings.ReplaceAll(missing, "nobody", "X") {
		t.Errorf("they differ:\n%s%s", foreign, missing)
	}
}

func TestCreatedBrainsBelongToTheTenant(t *testing.T) {
	s := startKeyed(t)
	create := func(key, body string, status int) protocol.Brain {
		t.Helper()
		b := decoded[protocol.Brain](t, s.expect(t, status, "POST", "/v1/brains", body, as(key)...))
		return b
	}
	first := create("writer", `{"name":"Notes"}`, 201)
	create("writer", `{"name":"Notes"}`, 409)
	second := create("other", `{"name":"Notes"}`, 201)
	if first.ID != "notes" || second.ID != "notes" || second.Slug != "notes" {
		t.Errorf("got %+v and %+v", first, second)
	}
	s.expect(t, 403, "GET", "/v1/brains/eval", "", as("other")...)
	s.expect(t, 200, "GET", "/v1/brains/notes", "", as("other")...)
	create("other", `{"id":"notes"}`, 409)
	// Whether other tenants, or no tenant, have the id makes no difference.
	for _, id := range []string{"theirs", "old", "nobodys"} {
		if b := create("writer", fmt.Sprintf(`{"id":%q}`, id), 201); b.ID != id || b.Slug != id {
			t.Errorf("got %+v", b)
		}
	}
	const document = "/documents?path=a.md"
	for _, key := range []string{"writer", "other"} {
		s.expect(t, 204, "PUT", "/v1/brains/theirs"+document, key, append(as(key), "Content-Type", protocol.TypeBytes)...)
	}
	for _, key := range []string{"writer", "other"} {
		if got := s.expect(t, 200, "GET", "/v1/brains/theirs/documents/read?path=a.md", "", as(key)...); got != key {
			t.Errorf("%s reads %q", key, got)
		}
		s.expect(t, 200, "POST", "/v1/brains/theirs/search", `{"query":"writer other"}`, as(key)...)
	}
	create("listed", `{"name":"Whatever"}`, 403)
	create("listed", `{"id":"second"}`, 403)
	// Whether a brain that is not on the list has the slug makes no difference.
	create("listed", `{"id":"mine","slug":"second"}`, 403)
	create("listed", `{"id":"mine","slug":"nobody"}`, 403)
	if b := create("listed", `{"slug":"mine"}`, 201); b.ID != "mine" || b.Slug != "mine" {
		t.Errorf("got %+v", b)
	}
	create("listed", `{"id":"mine","slug":"mine"}`, 409)
	create("reader", `{"name":"x"}`, 403)
}

// TestRepeatedDelete: a brain of no tenant has the id of a tenant's brain. An admin's key may use
// both, so that a second DELETE would reach the other one.
func TestRepeatedDelete(t *testing.T) {
	s := startKeyed(t)
	del := func(id string, status int) string {
		t.Helper()
		return s.expect(t, status, "DELETE", "/v1/brains/"+id, "", append(as("admin"), "X-Confirm-Delete", "yes")...)
	}
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"old"}`, as("admin")...)
	if got := del("old", 409); !strings.Contains(got, "another brain is called old") {
		t.Error(got)
	}
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"own"}`, as("admin")...)
	del("own", 204)
	del("own", 403)
	// Without keys, all brains are reached.
	s = startFake(t)
	for _, tenant := range []string{"", "acme"} {
		if _, err := s.brains.Create(t.Context(), tenant, protocol.CreateBrain{ID: "both"}); err != nil {
			t.Fatal(err)
		}
	}
	s.expect(t, 409, "DELETE", "/v1/brains/both", "", "X-Confirm-Delete", "yes")
	// The other brain has the name as its slug.
	s = startKeyed(t)
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"new","slug":"old"}`, as("admin")...)
	del("old", 409)
	del("new", 204)
	del("old", 204)
}

func TestAuthorizationHeader(t *testing.T) {
	s := startKeyed(t)
	token := tokenOf("reader")
	for value, want := range map[string]int{
		"":                                      401,
		token:                                   401,
		"Basic " + token:                        401,
		"Bearer":                                401,
		"Bearer ":                               401,
		"Bearer " + token + " x":                401,
		"Bearer " + token + ", Bearer " + token: 401,
		"Bearer ü":                              401,
		"Bearer " + token:                       200,
		"bearer  " + token:                      200,
		"Bearer " + token + "x":                 403,
		"Bearer " + HashToken(token):            403,
		"Bearer " + strings.Repeat("x", 10_000): 403,
	} {
		resp := s.do(t, "GET", "/v1/brains", "", "Authorization", value)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%.40q: got %d, want %d", value, resp.StatusCode, want)
		}
		if got := resp.Header.Get("WWW-Authenticate"); (got == "Bearer") != (want == 401) {
			t.Errorf("%.40q: WWW-Authenticate is %q", value, got)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/brains", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Authorization"] = []string{"Bearer " + token, "Bearer " + tokenOf("admin")}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("two headers: got %d", resp.StatusCode)
	}
}

// TestAccessProblems records the response to every kind of rejected request.
func TestAccessProblems(t *testing.T) {
	s := startKeyed(t)
	var got strings.Builder
	for _, e := range []struct{ key, method, target, body string }{
		{"", "GET", "/v1/brains", ""},
		{"stranger", "GET", "/v1/brains", ""},
		{"reader", "PUT", "/v1/brains/eval/documents?path=b.md", "x"},
		{"reader", "GET", "/metrics", ""},
		{"reader", "GET", "/v1/brains/theirs", ""},
		{"reader", "GET", "/v1/brains/missing", ""},
		{"listed", "POST", "/v1/brains", `{"id":"second"}`},
		{"listed", "POST", "/v1/brains", `{"name":"Whatever"}`},
		{"writer", "GET", "/v1/brains/old", ""},
		{"slow", "GET", "/v1/brains/none", ""},
		{"slow", "GET", "/v1/brains/none", ""},
		{"slow", "GET", "/v1/brains", ""},
	} {
		headers := as(e.key)
		if e.key == "" {
			headers = nil
		}
		fmt.Fprintf(&got, "key %q\n", e.key)
		record(t, s, &got, exchange{e.method, e.target, e.body, headers})
	}
	text := strings.Replace(got.String(), "Retry-After: 99\n", "Retry-After: 100\n", 1) // when slow
	goldentest.Compare(t, "testdata/access.txt", text)
}
