package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"evalctl/daemon/convert/converttest"
	"evalctl/internal/awaittest"
)

// TestHostileFiles sends a daemon forty copies of a file that was made to exhaust its memory at
// once, and then forty files of all kinds. It answers each of them and its health, and the memory
// of the process stays bounded.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("measures memory, of which the race detector needs several times as much")
	}
	const files = 40
	d := startProcess(t)
	before := mostResident(t, d.pid)
	bombs := slices.Repeat([]converttest.File{converttest.Bomb()}, files)
	for i := range bombs {
		bombs[i].Data = fmt.Appendf(slices.Clip(bombs[i].Data), "%% %d", i) // so that none is known
	}
	all := converttest.Hostile()
	for len(all) < files {
		all = append(all, all[:min(len(all), files-len(all))]...)
	}
	for _, sent := range [][]converttest.File{bombs, all} {
		var requests sync.WaitGroup
		for _, f := range sent {
			requests.Go(func() {
				switch status, retry, body := d.ingest(t, f); {
				case status == 201, status == 200, status == 202, status == 400:
				case status == 503 && retry != "":
				default:
					t.Errorf("%s: %d, Retry-After %q: %s", f.Name, status, retry, body)
				}
			})
		}
		if res, err := d.client.Get(d.url + "/healthz"); err != nil || res.StatusCode != 200 {
			t.Errorf("health: %v, %v", res, err)
		} else {
			_ = res.Body.Close()
		}
		awaittest.Wait(t, "requests", requests.Wait)
		grown := mostResident(t, d.pid) - before
		t.Logf("%d MiB more resident than the %d of an idle daemon", grown>>20, before>>20)
		if grown > 512<<20 {
			t.Errorf("the daemon has grown by %d MiB", grown>>20)
		}
	}
}

// ingest sends a file.
func (d *overloaded) ingest(t *testing.T, f converttest.File) (status int, retry string, response []byte) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", f.Name)
	if err == nil {
		_, err = part.Write(f.Data)
	}
	if err == nil {
		err = form.Close()
	}
	var res *http.Response
	if err == nil {
		res, err = d.client.Post(d.url+"/v1/brains/notes/documents/ingest/file", form.FormDataContentType(), &body)
	}
	if err != nil {
		t.Error(f.Name, err)
		return 0, "", nil
	}
	defer res.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), text.Bytes()
}

var mostResidentLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostResident returns the most memory that a process has had.
func mostResident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := mostResidentLine.FindSubmatch(status)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, status)
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}
