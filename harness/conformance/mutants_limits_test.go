package conformance

import (
	"net/http"

	"evalctl/daemon/protocol"
)

func limitMutants() []mutant {
	put, add, batch := route("PUT /documents"), route("POST /documents/append"), route("POST /documents/batch-ops")
	sized := func(match func(*http.Request) bool, from int64) func(*http.Request) bool {
		return func(r *http.Request) bool { return match(r) && r.ContentLength >= from }
	}
	const most = protocol.MaxWriteBytes
	return []mutant{
		{"put-limit-low", "PUT rejects a body of 2 MiB with 413", replace(sized(put, most), reject(413)),
			[]string{"limits-put-2mib-204"}, []string{"limits-append-document-grows", "limits-413-code"}},
		{"put-cut", "PUT truncates a body to 2 MiB", before(sized(put, most+1), func(r *http.Request) {
			if text := readBody(r); len(text) > most {
				setBody(r, text[:most])
			}
		}), []string{"limits-put-over-whole"}, nil},
		{"append-cut", "append truncates a body to 2 MiB",
			before(sized(add, most+1), func(r *http.Request) { setBody(r, readBody(r)[:most]) }),
			[]string{"limits-append-over-whole"}, nil},
		{"append-limit-low", "append rejects a body of 2 MiB with 413", replace(sized(add, most), reject(413)),
			[]string{"limits-append-2mib-204"}, nil},
		{"batch-limit-low", "a batch of 1,024 ops is rejected with 413",
			replace(batch, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if list, _ := bodyObject(r)["ops"].([]any); len(list) == protocol.MaxBatchOps {
					reject(413)(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			}), []string{"limits-batch-1024-ops-200"}, nil},
		{"batch-cut", "a batch is truncated to 1,024 ops", before(batch, func(r *http.Request) {
			if r.ContentLength < 1<<20 {
				editBody(r, func(o map[string]any) {
					if list, ok := o["ops"].([]any); ok {
						o["ops"] = list[:min(len(list), protocol.MaxBatchOps)]
					}
				})
			}
		}), []string{"limits-batch-1025-ops-whole"}, nil},
		{"gzip-packed", "Content-Encoding is ignored",
			before(put, func(r *http.Request) { r.Header.Del("Content-Encoding") }),
			[]string{"limits-gzip", "limits-gzip-counted-unpacked"}, nil},
		{"413-without-problem", "a 413 response has no body",
			after(sized(put, most+1), func(_ *http.Request, a *captured) { a.SetText("") }),
			[]string{"limits-413-problem"}, []string{"limits-413-code"}},
	}
}
