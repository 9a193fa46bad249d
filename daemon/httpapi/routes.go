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
	// scope is what a key needs. scopeOpen needs no key, scopeKey any key.
	scope scope
	// operation is the operationId in openapi.json.
	operation string
	// serve handles a request that was let through. An error that it returns becomes a Problem,
	// unless the response has begun.
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
	{"GET /healthz", scopeOpen, "health", (*API).healthz},
	{"GET /openapi.json", scopeOpen, "openapi", (*API).openapi},
	{"GET /metrics", scopeAdmin, "metrics", (*API).serveMetrics},
	{"POST /mcp", scopeKey, "mcp", (*API).serveMCP},

	{"POST " + brainsPath, scopeWrite, "createBrain", (*API).createBrain},
	{"GET " + brainsPath, scopeRead, "listBrains", (*API).listBrains},
	{"GET " + brainPath, scopeRead, "getBrain", (*API).getBrain},
	{"DELETE " + brainPath, scopeAdmin, "deleteBrain", (*API).deleteBrain},

	{"GET " + documentsPath + "/read", scopeRead, "readDocument", (*API).readDocument},
	{"GET " + documentsPath + "/stat", scopeRead, "statDocument", (*API).statDocument},
	{"HEAD " + documentsPath, scopeRead, "headDocument", (*API).headDocument},
	{"GET " + documentsPath, scopeRead, "listDocuments", (*API).listDocuments},
	{"PUT " + documentsPath, scopeWrite, "writeDocument", (*API).writeDocument},
	{"DELETE " + documentsPath, scopeWrite, "deleteDocument", (*API).deleteDocument},
	{"POST " + documentsPath + "/append", scopeWrite, "appendDocument", (*API).appendDocument},
	{"POST " + documentsPath + "/rename", scopeWrite, "renameDocument", (*API).renameDocument},
	{"POST " + documentsPath + "/batch-ops", scopeWrite, "batchDocuments", (*API).batchDocuments},

	{"POST " + documentsPath, scopeWrite, "createDocument", (*API).createRecord},
	{"POST " + documentsPath + "/ingest/file", scopeWrite, "ingestFile", (*API).ingestFile},
	{"POST " + brainPath + "/ingest/file", scopeWrite, "ingestFileAlias", (*API).ingestFile},
	{"POST " + documentsPath + "/ingest/url", scopeWrite, "ingestURL", (*API).ingestURL},
	{"POST " + brainPath + "/ingest/url", scopeWrite, "ingestURLAlias", (*API).ingestURL},

	{"GET " + recordPath, scopeRead, "getDocument", (*API).getRecord},
	{"DELETE " + recordPath, scopeWrite, "deleteDocumentById", (*API).deleteRecord},

	{"GET " + brainPath + "/jobs/{job_id}", scopeRead, "getJob", (*API).getJob},

	{"GET " + brainPath + "/events", scopeRead, "watchBrain", (*API).watchBrain},

	{"POST " + brainPath + "/search", scopeSearch, "search", (*API).search},
	{"GET " + brainPath + "/search", scopeSearch, "searchByQuery", (*API).searchByQuery},
	{"POST " + brainPath + "/ask", scopeAsk, "ask", (*API).ask},

	{"POST " + sessionPath + "/messages", scopeWrite, "addMessage", (*API).addMessage},
	{"POST " + sessionPath + "/messages/batch", scopeWrite, "addMessages", (*API).addMessages},
	{"GET " + sessionPath, scopeRead, "getSession", (*API).getSession},
	{"POST " + sessionPath + "/recall", scopeSearch, "recall", (*API).recall},
	{"POST " + sessionPath + "/reflect", scopeWrite, "reflect", (*API).reflect},

	{"POST " + brainPath + "/consolidate", scopeWrite, "consolidate", (*API).consolidate},
	{"POST " + brainPath + "/compile", scopeWrite, "compile", (*API).consolidate},
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

// uncached reports whether caches must not keep the route's responses. Only GET and HEAD are cached
// otherwise.
func (rt route) uncached() bool {
	return rt.scope != scopeOpen && (rt.method() == http.MethodGet || rt.method() == http.MethodHead)
}

// repeatable reports whether the handler can be called again with another brain, after an
// operation on the first one has failed with store.ErrGone.
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
		if ofBrain {
			return a.serveBrain(w, r, rt)
		}
		return rt.serve(a, w, r)
	}
	a.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
		clearWriteDeadline(w)
		if err := serve(w, r); err != nil {
			writeError(r, err)
		}
	})
}
