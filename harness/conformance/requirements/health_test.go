package requirements

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	ct "evalctl/harness/conformance/conformancetest"
)

// A daemon that takes longer to answer than a fast one does is alive, and its files are known.
func TestSlowIsAlive(t *testing.T) {
	t.Parallel()
	const each = 3500 * time.Millisecond
	srv := httptest.NewServer(ct.Delay(each)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer srv.Close()
	o := Config{Endpoint: srv.URL, Parallel: 1, Timeout: 10 * time.Second}
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Health(t.Context()); err != nil {
		t.Errorf("dead: %v", err)
	}
	if got := d.patience(probeLimit); got != o.Timeout {
		t.Errorf("after an answer in %v the patience is %v", each, got)
	}
}
