package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
