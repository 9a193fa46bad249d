package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"evalctl/harness/daemontest"
)

// flooder is a daemon that answers every question with megabytes and an error, and logs more. Its
// argument is its address.
func flooder() {
	megabyte := strings.Repeat("x", 1<<20)
	line := strings.Repeat("y", 255) + "\n"
	var asked atomic.Int64
	err := http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/ask") {
			fmt.Fprint(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[]}`)
			return
		}
		for range 6 << 20 / len(line) {
			_, _ = io.WriteString(os.Stderr, line)
		}
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat(megabyte, 4))
			return
		}
		daemontest.Stream(w, daemontest.Event("retrieve", `{"chunks":[{"chunk_id":"c","text":"`+strings.Repeat(megabyte, 4)+`"}]}`))
		for range 8 {
			daemontest.Stream(w, daemontest.Event("answer_delta", `{"delta":"`+megabyte+`"}`))
		}
		daemontest.Stream(w, daemontest.Event("error", `{"message":"`+megabyte+`"}`))
	}))
	fmt.Fprintln(os.Stderr, err)
}
