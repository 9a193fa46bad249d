package conformance

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// isBrains matches requests to /v1/brains.
func isBrains(r *http.Request) bool { return r.URL.Path == "/v1/brains" }

func isConfirmed(r *http.Request) bool {
	return route("DELETE ")(r) && r.Header.Get("X-Confirm-Delete") == "yes"
}

func brainMutants() []mutant {
	return slices.Concat(brainAnswerMutants(), brainEffectMutants(), brainFieldMutants())
}

func brainAnswerMutants() []mutant {
	return []mutant{
		{"health-503", "/healthz returns 503",
			replace(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, reject(503)),
			[]string{"brains-health-200"}, []string{"brains-health-*"}},
		{"health-closed", "/healthz needs a token", replace(func(r *http.Request) bool {
			return r.URL.Path == "/healthz" && r.Header.Get("Authorization") == ""
		}, reject(401)), []string{"brains-health-open"}, nil},
		{"brain-delete-unconfirmed", "a brain is deleted without confirmation",
			before(route("DELETE "), func(r *http.Request) {
				r.Header.Set("X-Confirm-Delete", "yes")
			}), []string{"brains-delete-unconfirmed-428"}, nil},
		{"brain-twice", "creating a brain that exists returns 201", after(isBrains, changeStatus(409, 201)),
			[]string{"brains-create-twice-409"}, nil},
		{"brain-slug-lost", "brains have no slug", after(isBrains, func(_ *http.Request, a *captured) {
			a.Edit(func(o map[string]any) { delete(o, "slug") })
		}), []string{"brains-create-slug"}, nil},
		{"brain-public", "brains are public by default", after(isBrains, func(_ *http.Request, a *captured) {
			a.ReplaceText(`"private"`, `"public"`)
		}), []string{"brains-create-private"}, nil},
	}
}

// brainEffectMutants return correct responses but have a wrong effect.
func brainEffectMutants() []mutant {
	asked := route("GET ")
	create := func(r *http.Request) bool { return isBrains(r) && r.Method == http.MethodPost }
	named := and(create, func(r *http.Request) bool { o := bodyObject(r); return o["name"] != nil && o["id"] == nil })
	return []mutant{
		{"brain-name-lost", "every brain has the name brain", after(create, func(_ *http.Request, a *captured) {
			a.Edit(func(o map[string]any) { o["name"] = "brain" })
		}), []string{"brains-create-name"}, nil},
		{"brain-visibility-forgotten", "the visibility of a new brain is returned but not stored",
			after(asked, func(_ *http.Request, a *captured) {
				a.ReplaceText(`"tenant"`, `"private"`)
			}), []string{"brains-create-visibility"}, nil},
		{"brain-id-replaced", "a new brain does not have the id in brainId", before(create, func(r *http.Request) {
			editBody(r, func(o map[string]any) {
				if id, ok := o["brainId"].(string); ok && o["id"] == nil {
					o["brainId"] = id + "y"
				}
			})
		}), []string{"brains-create-camel-case"}, nil},
		{"brain-never-made", "a brain that only has a name is acknowledged but not created",
			replace(named, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				name, _ := bodyObject(r)["name"].(string)
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write(encode(object{"id": name, "name": name, "slug": "slug", "visibility": "private"}))
			}),
			[]string{"brains-create-201"}, []string{"brains-create-*"}},
		{"brain-twice-emptied", "creating a brain that exists returns 409 but empties it",
			replace(create, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if id, ok := bodyObject(r)["id"].(string); ok {
					path := subrequest(r, "DELETE", "/documents", "", "", "path", "a.md")
					path.URL.Path = "/v1/brains/" + id + "/documents"
					capture(next, path)
				}
				next.ServeHTTP(w, r)
			}), []string{"brains-create-twice-409"}, nil},
		{"brain-kept", "DELETE of a brain has no effect",
			replace(isConfirmed, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.WriteHeader(http.StatusNoContent)
			}), []string{"brains-delete-removes", "brains-delete-forgets"}, nil},
		{"brain-hidden", "a deleted brain is only hidden until it is created again", hideDeleted(),
			[]string{"brains-delete-forgets"}, []string{"brains-delete-removes"}},
		{"brain-refused-deleted", "DELETE without confirmation returns 428 but deletes the brain",
			replace(and(route("DELETE "), func(r *http.Request) bool { return !isConfirmed(r) }),
				func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					a := capture(next, r)
					r.Header.Set("X-Confirm-Delete", "yes")
					capture(next, r)
					a.Send(w, r)
				}), []string{"brains-delete-unconfirmed-428"}, nil},
		{"brain-still-listed", "the list of brains contains deleted brains", keepDeleted(true),
			[]string{"brains-delete-removes"}, nil},
		{"brain-still-found", "GET of a deleted brain returns the brain", keepDeleted(false),
			[]string{"brains-delete-removes"}, nil},
	}
}

// brainFieldMutants are about limits, slugs and other tenants.
func brainFieldMutants() []mutant {
	create := func(r *http.Request) bool { return isBrains(r) && r.Method == http.MethodPost }
	list := func(r *http.Request) bool { return isBrains(r) && r.Method == http.MethodGet }
	long := func(name string, n int) func(o map[string]any) bool {
		return func(o map[string]any) bool { return len(textOf(o, name)) > n }
	}
	cut := func(name string, n int) func(o map[string]any) {
		return func(o map[string]any) {
			if s := textOf(o, name); len(s) > n {
				o[name] = s[:n]
			}
		}
	}
	other := func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+otherToken }
	asAdmin := func(match func(*http.Request) bool) wrapper {
		return before(and(match, other), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adminToken) })
	}
	return []mutant{
		{"brain-short-names", "names may have 100 characters", refuse(create, 400, long("name", 100)),
			[]string{"brains-create-name-128"}, []string{"mcp-*", "brains-create-slug-long-name"}},
		{"brain-name-cut", "long names are cut", tolerate(create, cut("name", 128)),
			[]string{"brains-create-name-129-400"}, []string{"mcp-*"}},
		{"brain-name-any", "a name may be a number", tolerate(create, func(o map[string]any) {
			if _, ok := o["name"].(float64); ok {
				o["name"] = newName()
			}
		}), []string{"brains-create-name-number-400"}, nil},
		{"brain-slug-replaced", "the slug in the request is ignored", tolerate(create, func(o map[string]any) {
			if strings.HasSuffix(textOf(o, "slug"), "-s") {
				delete(o, "slug")
			}
		}), []string{"brains-create-slug-given"}, nil},
		{"brain-short-slugs", "slugs may have 50 characters", refuse(create, 400, long("slug", 50)),
			[]string{"brains-create-slug-64"}, nil},
		{"brain-slug-cut", "long slugs are cut", tolerate(create, cut("slug", 64)), []string{"brains-create-slug-65-400"},
			[]string{"mcp-*"}},
		{"brain-slug-trimmed", "a leading hyphen of a slug is removed", tolerate(create, func(o map[string]any) {
			if s, ok := o["slug"].(string); ok {
				o["slug"] = strings.TrimLeft(s, "-")
			}
		}), []string{"brains-create-slug-dash-400"}, nil},
		{"brain-slug-long", "the slug of a long name is as long", editAnswer(create, func(request, o map[string]any) {
			if name := textOf(request, "name"); len(name) == 107 {
				o["slug"] = strings.Repeat("n", 107)
			}
		}), []string{"brains-create-slug-long-name"}, nil},
		{"brain-slug-shared", "brains with the same name have the same slug",
			replace(create, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				name := textOf(bodyObject(r), "name")
				a := capture(next, r)
				if slug, ok := strings.CutSuffix(name, " Twin"); ok && a.Status == 409 {
					a.ReplaceWith(201, string(encode(object{"id": name, "slug": slug + "-twin"})))
				}
				a.Send(w, r)
			}), []string{"brains-create-slug-unique"}, nil},
		{"brain-never-public", "a public brain is private", editAnswer(create, func(_, o map[string]any) {
			if o["visibility"] == "public" {
				o["visibility"] = "private"
			}
		}), []string{"brains-create-visibility-public"}, nil},
		{"brain-list-ids", "the list of brains has ids only", editAnswer(list, func(_, o map[string]any) {
			for _, item := range o["items"].([]any) {
				b := item.(map[string]any)
				delete(b, "slug")
			}
		}), []string{"brains-list-fields"}, []string{"mcp-*"}},
		{"brain-list-camel-case", "the keys of the list of brains are in camelCase", editAnswer(list, set("defaultBrain", 1)),
			[]string{"brains-list-snake-case"}, nil},
		{"brain-tenant-get", "a token of another tenant may get a brain", asAdmin(route("GET ")),
			[]string{"brains-tenant-get-403"}, nil},
		{"brain-tenant-delete", "a token of another tenant may delete a brain", asAdmin(route("DELETE ")),
			[]string{"brains-tenant-delete-403"}, nil},
		{"brain-tenant-list", "a token of another tenant lists all brains", asAdmin(list),
			[]string{"brains-tenant-unlisted"}, nil},
	}
}

// hideDeleted hides deleted brains instead of deleting them.
func hideDeleted() wrapper {
	var mu sync.Mutex
	gone := map[string]bool{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
			again := ""
			if isBrains(r) && r.Method == http.MethodPost {
				again, _ = bodyObject(r)["id"].(string)
			}
			mu.Lock()
			hidden, back := gone[id], gone[again]
			delete(gone, again)
			if isConfirmed(r) {
				gone[id] = true
			}
			mu.Unlock()
			switch {
			case hidden:
				reject(404)(w, r, next)
			case isConfirmed(r):
				w.WriteHeader(http.StatusNoContent)
			case back:
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write(encode(object{"id": again}))
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// keepDeleted returns deleted brains in the list of brains if inList is set, and otherwise in the
// response to GET.
func keepDeleted(inList bool) wrapper {
	var mu sync.Mutex
	gone := map[string]*captured{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if route("* /events")(r) {
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			if isConfirmed(r) {
				gone[r.URL.Path] = capture(next, subrequest(r, "GET", "", "", ""))
			}
			old, all := gone[r.URL.Path], slices.Collect(maps.Values(gone))
			mu.Unlock()
			a := capture(next, r)
			switch {
			case inList && isBrains(r) && r.Method == http.MethodGet:
				a.Edit(func(o map[string]any) {
					for _, b := range all {
						o["items"] = append(o["items"].([]any), json.RawMessage(b.Body.Bytes()))
					}
				})
			case !inList && old != nil && r.Method == http.MethodGet:
				a.ReplaceWith(200, old.Body.String())
			}
			a.Send(w, r)
		})
	}
}
