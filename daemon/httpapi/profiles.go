package httpapi

import (
	"net/http"
	"net/http/pprof"
)

// profiles are the routes of Options.Profiles, for go tool pprof. They do not belong to the API.
var profiles = []route{
	{"GET /debug/pprof", scopeAdmin, kindNone, "profiles", (*API).profile},
	{"GET /debug/pprof/{profile}", scopeAdmin, kindNone, "profile", (*API).profile},
}

// profile serves a profile of the process, or the list of them.
func (a *API) profile(w http.ResponseWriter, r *http.Request) error {
	switch r.PathValue("profile") {
	case "profile":
		pprof.Profile(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
	return nil
}
