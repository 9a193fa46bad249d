package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"evalctl/harness/daemontest"
)

// playDaemon serves until its process is ended. It prints its URL on stdout, answers after DELAY,
// flushing each event unless WHOLE is set, and never answers a question that contains "hang".
func playDaemon() error {
	delay, err := time.ParseDuration(os.Getenv("DELAY"))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/ask") { // healthy, and its one brain is filled
			_, _ = io.WriteString(w, `{"ok":true,"items":[{"id":"eval"}],"chunks":[{"text":"text"}]}`)
			return
		}
		var body struct{ Question string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.Contains(body.Question, "hang") {
			<-r.Context().Done()
			return
		}
		time.Sleep(delay)
		w.Header().Set("Content-Type", "text/event-stream")
		for frame := range strings.SplitAfterSeq(daemontest.AnswerTo(body.Question), "\n\n") {
			_, _ = io.WriteString(w, frame)
			if os.Getenv("WHOLE") == "" {
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
}

// playService serves health checks at an address, the first argument, for a Session. It writes its
// process id to the file PID of its home and the variable SECRET to its log. GET /exit ends it with
// status 7. If a second argument is given, it ends with that status at once.
func playService(args []string) error {
	pid := []byte(strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(filepath.Join(os.Getenv("SVC_HOME"), "PID"), pid, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "the token is", os.Getenv("SECRET"))
	if len(args) > 1 {
		status, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		os.Exit(status)
	}
	return http.ListenAndServe(args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/exit" {
			os.Exit(7)
		}
		_, _ = io.WriteString(w, `{"ok":true,"version":"1.2.3"}`)
	}))
}
