package httpapi

import (
	"net/http"
	"strings"
)

// route is one endpoint of the API. The table below is the only list of them: the mux, the
// permissions and openapi.json follow from it.
type route struct {
	// pattern is a method and a path in the syntax of http.ServeMux. The wildcard {id} is the id or
	// the slug of a brain, which brainOf then returns.
	pattern string
	// scope is the scope that a key needs. scopeOpen needs no key, scopeKey any key.
	scope scope
	// kind is the gate that its work passes.
	kind kind
	// operation is the operationId in openapi.json.
	operation string
	// serve handles an admitted request. An error that it returns becomes a Problem, unless the
	// response has begun.
	serve func(*API, http.ResponseWriter, *http.Request) error
}

const (
	brainsPath    = "/v1/brains"
	brainPath     = brainsPath + "/{id}"
	documentsPath = brainPath + "/documents"
	recordPath    = documentsPath + "/{document_id}"
	sessionPath   = brainPath + "/sessions/{session_id}"
)

var routes = []route{
	{"GET /healthz", scopeOpen, kindNone, "health", (*API).healthz},
	{"GET /openapi.json", scopeOpen, kindNone, "openapi", (*API).openapi},
	{"GET /metrics", scopeAdmin, kindNone, "metrics", (*API).serveMetrics},
	{"POST /mcp", scopeKey, kindNone, "mcp", (*API).serveMCP},

	{"POST " + brainsPath, scopeWrite, kindWrite, "createBrain", (*API).createBrain},
	{"GET " + brainsPath, scopeKey, kindRead, "listBrains", (*API).listBrains},
	{"GET " + brainPath, scopeRead, kindRead, "getBrain", (*API).getBrain},
	{"DELETE " + brainPath, scopeAdmin, kindWrite, "deleteBrain", (*API).deleteBrain},

	{"GET " + documentsPath + "/read", scopeRead, kindRead, "readDocument", (*API).readDocument},
	{"GET " + documentsPath + "/stat", scopeRead, kindRead, "statDocument", (*API).statDocument},
	{"HEAD " + documentsPath, scopeRead, kindRead, "headDocument", (*API).headDocument},
	{"GET " + documentsPath, scopeRead, kindRead, "listDocuments", (*API).listDocuments},
	{"PUT " + documentsPath, scopeWrite, kindWrite, "writeDocument", (*API).writeDocument},
	{"DELETE " + documentsPath, scopeWrite, kindWrite, "deleteDocument", (*API).deleteDocument},
	{"POST " + documentsPath + "/append", scopeWrite, kindWrite, "appendDocument", (*API).appendDocument},
	{"POST " + documentsPath + "/rename", scopeWrite, kindWrite, "renameDocument", (*API).renameDocument},
	{"POST " + documentsPath + "/batch-ops", scopeWrite, kindWrite, "batchDocuments", (*API).batchDocuments},

	{"POST " + documentsPath, scopeWrite, kindWrite, "createDocument", (*API).createRecord},
	{"POST " + documentsPath + "/ingest/file", scopeWrite, kindIngest, "ingestFile", (*API).ingestFile},
	{"POST " + brainPath + "/ingest/file", scopeWrite, kindIngest, "ingestFileAlias", (*API).ingestFile},
	{"POST " + documentsPath + "/ingest/url", scopeWrite, kindIngest, "ingestURL", (*API).ingestURL},
	{"POST " + brainPath + "/ingest/url", scopeWrite, kindIngest, "ingestURLAlias", (*API).ingestURL},

	{"GET " + recordPath, scopeRead, kindRead, "getDocument", (*API).getRecord},
	{"DELETE " + recordPath, scopeWrite, kindWrite, "deleteDocumentById", (*API).deleteRecord},

	{"GET " + brainPath + "/jobs/{job_id}", scopeRead, kindRead, "getJob", (*API).getJob},

	{"GET " + brainPath + "/events", scopeRead, kindNone, "watchBrain", (*API).watchBrain},

	{"POST " + brainPath + "/search", scopeSearch, kindSearch, "search", (*API).search},
	{"GET " + brainPath + "/search", scopeSearch, kindSearch, "searchByQuery", (*API).searchByQuery},
	{"POST " + brainPath + "/ask", scopeAsk, kindAsk, "ask", (*API).ask},

	{"POST " + sessionPath + "/messages", scopeWrite, kindWrite, "addMessage", (*API).addMessage},
	{"POST " + sessionPath + "/messages/batch", scopeWrite, kindWrite, "addMessages", (*API).addMessages},
	{"GET " + sessionPath, scopeRead, kindRead, "getSession", (*API).getSession},
	{"DELETE " + sessionPath, scopeWrite, kindWrite, "deleteSession", (*API).deleteSession},
	{"POST " + sessionPath + "/recall", scopeSearch, kindSearch, "recall", (*API).recall},
	{"POST " + sessionPath + "/reflect", scopeWrite, kindIngest, "reflect", (*API).reflect},

	{"POST " + brainPath + "/consolidate", scopeWrite, kindIngest, "consolidate", (*API).consolidate},
	{"POST " + brainPath + "/compile", scopeWrite, kindIngest, "compile", (*API).consolidate},
}

func (rt route) method() string {
	method, _, _ := strings.Cut(rt.pattern, " ")
	return method
}

func (rt route) path() string {
	_, path, _ := strings.Cut(rt.pattern, " ")
	return path
}

// ofBrain reports whether the route addresses a brain.
func (rt route) ofBrain() bool { return strings.Contains(rt.pattern, "{id}") }

// needsStore reports whether the handler needs the store of its brain, and waits for it no
// longer than operationTimeout. A search has a limit of its own, which depends on the index too.
func (rt route) needsStore() bool {
	return rt.path() != brainPath && rt.kind != kindSearch && rt.kind != kindAsk
}

// uncached reports whether caches must not keep the route's responses. Only GET and HEAD are cached
// otherwise.
func (rt route) uncached() bool {
	return rt.scope != scopeOpen && (rt.method() == http.MethodGet || rt.method() == http.MethodHead)
}

// repeatable reports whether the handler can be called again with another brain, after an operation
// on the first one has failed with store.ErrGone.
func (rt route) repeatable() bool {
	switch rt.operation {
	case "readDocument", "statDocument", "headDocument", "listDocuments",
		"writeDocument", "appendDocument", "renameDocument", "deleteDocument",
		"search", "searchByQuery":
		return true
	}
	return false
}

// handle adds a route to the mux.
func (a *API) handle(rt route) {
	ofBrain, uncached := rt.ofBrain(), rt.uncached()
	serve := func(w http.ResponseWriter, r *http.Request) error {
		if uncached {
			w.Header().Set("Cache-Control", "no-store") // on rejections as well
		}
		if err := a.authorize(w, r, rt.scope); err != nil {
			return err
		}
		gate := a.gates[rt.kind]
		if gate != nil && gate.Refuse(requestOf(r).tenant()) {
			return a.refuse(r, gate)
		}
		defer requestOf(r).end()
		r, err := a.arrive(r, rt)
		if err != nil {
			return err
		}
		if ofBrain {
			return a.serveBrain(w, r, rt)
		}
		return rt.serve(a, w, r)
	}
	a.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
		clearWriteDeadline(w)
		err := serve(w, r)
		if err != nil {
			writeError(r, err)
		}
		if gate := a.gates[rt.kind]; gate != nil && err == nil {
			a.pace.served.Add(1)
			a.lobby.relieve(gate)
		}
	})
}
