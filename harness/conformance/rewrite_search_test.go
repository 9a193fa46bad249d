package conformance

import (
	"net/http"
)

// editSearchRequest changes the bodies of search requests.
func editSearchRequest(change func(o map[string]any)) wrapper {
	return before(route("POST /search"), func(r *http.Request) { editBody(r, change) })
}

// editFilters changes the filters of search requests.
func editFilters(change func(filters map[string]any)) wrapper {
	return editSearchRequest(func(o map[string]any) {
		if filters, ok := o["filters"].(map[string]any); ok {
			change(filters)
		}
	})
}

// editSearchAnswer changes the responses to searches, depending on the bodies of the requests.
func editSearchAnswer(change func(request map[string]any, a *captured)) wrapper {
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		request := bodyObject(r)
		a := capture(next, r)
		change(request, a)
		a.Send(w, r)
	})
}

// editChunks changes the chunks in the responses to searches.
func editChunks(change func(request map[string]any, chunks []any) []any) wrapper {
	return editSearchAnswer(func(request map[string]any, a *captured) {
		a.Edit(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok {
				o["chunks"] = change(request, list)
			}
		})
	})
}

func pathOfChunk(chunk any) string { return chunk.(map[string]any)["path"].(string) }

// dropValue removes a key with a certain value before the daemon can reject it.
func dropValue(name string, value any) wrapper {
	return editSearchRequest(func(o map[string]any) {
		if o[name] == value {
			delete(o, name)
		}
	})
}
