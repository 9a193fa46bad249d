package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"pgregory.net/rapid"
)

// server serves a file and can be made to fail.
type server struct {
	*httptest.Server
	mu      sync.Mutex // of a request's beginning
	content []byte
	etag    string
	// cut is after how many bytes of each response the connection ends, in order; -1 for never.
	cut []int
	// stall makes a cut response wait for its end.
	stall     bool
	noRange   bool // ignores the header Range
	noLength  bool // sends no Content-Length
	statuses  []int
	ranges    []string // the Range headers received
	badRange  string   // the Content-Range of responses
	encoded   bool
	short     int // the most bytes of a response, which ends without an error
	changesAt int // the request from which the content is another one
}

func newServer(t testing.TB, size int) *server {
	s := &server{content: make([]byte, size), etag: `"v1"`}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range s.content {
		s.content[i] = byte(r.Uint32())
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if n := len(s.ranges); s.changesAt > 0 && n == s.changesAt {
		s.content, s.etag = append([]byte("changed "), s.content...), `"v2"`
	}
	if len(s.statuses) > 0 {
		status := s.statuses[0]
		s.statuses = s.statuses[1:]
		if status != 0 {
			s.mu.Unlock()
			w.WriteHeader(status)
			return
		}
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	if s.noRange {
		r.Header.Del("Range")
	}
	if s.encoded {
		w.Header().Set("Content-Encoding", "gzip")
	}
	limit := -1
	if len(s.cut) > 0 {
		limit, s.cut = s.cut[0], s.cut[1:]
	}
	out := &cutWriter{
		ResponseWriter: w, left: limit, stall: s.stall, badRange: s.badRange, done: r.Context().Done(),
	}
	content, noLength := s.content, s.noLength
	s.mu.Unlock()
	if s.short > 0 {
		serveShort(w, r, content, s.short)
		return
	}
	if noLength {
		_ = http.NewResponseController(w).Flush()
		_, _ = out.Write(content)
		return
	}
	http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(content))
}

// serveShort sends at most a number of bytes, in a response that is complete by itself.
func serveShort(w http.ResponseWriter, r *http.Request, content []byte, most int) {
	var first int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first); err == nil {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, first+most-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		_ = http.NewResponseController(w).Flush() // no Content-Length
	}
	_, _ = w.Write(content[first:min(first+most, len(content))])
}

// cutWriter ends the connection after a number of bytes.
type cutWriter struct {
	http.ResponseWriter
	left     int
	stall    bool
	badRange string
	done     <-chan struct{}
}

func (w *cutWriter) WriteHeader(status int) {
	if w.badRange != "" && status == http.StatusPartialContent {
		w.Header().Set("Content-Range", w.badRange)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *cutWriter) Write(data []byte) (int, error) {
	if w.left < 0 || len(data) <= w.left {
		if w.left > 0 {
			w.left -= len(data)
		}
		return w.ResponseWriter.Write(data)
	}
	_, _ = w.ResponseWriter.Write(data[:w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	if w.stall {
		<-w.done
	}
	panic(http.ErrAbortHandler)
}

func (s *server) sum() string {
	sum := sha256.Sum256(s.content)
	return hex.EncodeToString(sum[:])
}

// config returns a configuration that knows size and checksum, and waits for nothing.
func (s *server) config(t testing.TB) Config {
	return Config{
		URL: s.URL + "/file", Path: filepath.Join(t.TempDir(), "file"),
		Size: int64(len(s.content)), SHA256: s.sum(), FirstWait: time.Nanosecond,
	}
}

// check fails unless the file is the server's and nothing else is left.
func check(t testing.TB, s *server, c Config, f File, err error) {
	t.Helper()
	data, readErr := os.ReadFile(c.Path)
	if err != nil || readErr != nil || !bytes.Equal(data, s.content) || f.SHA256 != s.sum() ||
		f.Size != int64(len(s.content)) {
		t.Fatalf("%+v, %v, %v: %d bytes of %d", f, err, readErr, len(data), len(s.content))
	}
	entries, err := os.ReadDir(filepath.Dir(c.Path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestGet(t *testing.T) {
	const size = 300_000
	for _, c := range []struct {
		name   string
		set    func(*server, *Config)
		ranges []string
	}{
		{"whole", func(*server, *Config) {}, []string{""}},
		{"empty", func(s *server, c *Config) { s.content = nil; c.Size, c.SHA256 = 0, s.sum() }, []string{""}},
		{"cuts", func(s *server, _ *Config) { s.cut = []int{100_000, 50_000, 0} },
			[]string{"", "bytes=100000-", "bytes=150000-", "bytes=150000-"}},
		{"cuts, nothing known", func(s *server, c *Config) { s.cut = []int{1000}; c.Size, c.SHA256 = 0, "" },
			[]string{"", "bytes=1000-"}},
		{"many cuts", func(s *server, c *Config) { s.cut = slices.Repeat([]int{20_000}, 14); c.Tries = 2 }, nil},
		{"temporary errors", func(s *server, _ *Config) { s.statuses = []int{503, 429, 500, 408, 0} },
			slices.Repeat([]string{""}, 5)},
		{"an error after a cut", func(s *server, _ *Config) { s.cut = []int{10}; s.statuses = []int{0, 502, 0} },
			[]string{"", "bytes=10-", "bytes=10-"}},
		{"no ranges", func(s *server, _ *Config) { s.noRange = true; s.cut = []int{1000, 2000} },
			[]string{"", "bytes=1000-", "bytes=2000-"}},
		{"changed content", func(s *server, c *Config) {
			s.cut, s.changesAt, c.Size, c.SHA256 = []int{1000}, 2, 0, ""
		}, []string{"", "bytes=1000-"}},
		{"stalled", func(s *server, c *Config) { s.cut, s.stall, c.Idle = []int{500}, true, 50*time.Millisecond },
			[]string{"", "bytes=500-"}},
		{"no length", func(s *server, c *Config) { s.noLength, c.Size = true, 0 }, []string{""}},
		{"no length, cut", func(s *server, _ *Config) { s.noLength, s.cut = true, []int{400} },
			[]string{"", "bytes=400-"}},
		{"short responses", func(s *server, _ *Config) { s.short = 100_000 },
			[]string{"", "bytes=100000-", "bytes=200000-"}},
		{"no validator, but a checksum", func(s *server, _ *Config) { s.etag, s.cut = "", []int{400} },
			[]string{"", "bytes=400-"}},
		{"upper case checksum", func(_ *server, c *Config) { c.SHA256 = strings.ToUpper(c.SHA256) }, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, size)
			config := s.config(t)
			c.set(s, &config)
			f, err := Get(t.Context(), config)
			check(t, s, config, f, err)
			if c.ranges != nil && !slices.Equal(s.ranges, c.ranges) {
				t.Errorf("ranges %q, want %q", s.ranges, c.ranges)
			}
		})
	}
}

// TestResume checks that another call continues what one left, if it is of the same file.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*server, *Config)
		request string // the second call's first Range
		resumed int64
	}{
		{"the rest", func(*server, *Config) {}, "bytes=70000-", 70_000},
		{"another ETag", func(s *server, c *Config) {
			s.content, s.etag = bytes.Repeat([]byte("y"), len(s.content)), `"v2"`
			c.SHA256 = s.sum()
		}, "bytes=70000-", 70_000},
		{"another content under the same ETag", func(s *server, c *Config) {
			s.content = bytes.Repeat([]byte("z"), len(s.content))
			c.SHA256 = s.sum()
		}, "bytes=70000-", 70_000},
		{"shorter content", func(s *server, c *Config) {
			s.content, s.etag = s.content[:70], `"v2"`
			c.Size, c.SHA256 = 0, ""
		}, "bytes=70000-", 70_000},
		{"another URL", func(_ *server, c *Config) { c.URL += "2" }, "", 0},
		{"too long a part", func(s *server, c *Config) {
			s.content = s.content[:500]
			c.Size, c.SHA256 = 500, s.sum()
		}, "", 0},
		{"not synced as a whole", func(s *server, c *Config) {
			c.Size, c.SHA256 = 0, ""
			part := append(slices.Clone(s.content[:30_000]), make([]byte, 40_000)...)
			_ = os.WriteFile(c.Path+partSuffix, part, 0o600)
			state := fmt.Sprintf(`{"url":%q,"validator":%q,"synced":30000}`, c.URL, s.etag)
			_ = os.WriteFile(c.Path+stateSuffix, []byte(state), 0o600)
		}, "bytes=30000-", 30_000},
		{"no state", func(_ *server, c *Config) {
			c.SHA256 = ""
			_ = os.Remove(c.Path + stateSuffix)
		}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, 100_000)
			config := s.config(t)
			config.Tries = 1
			s.cut = []int{70_000}
			_, err := Get(t.Context(), config)
			if err == nil || !strings.Contains(err.Error(), "unexpected EOF, after 1 attempts; 70000 bytes are kept") {
				t.Fatal(err)
			}
			config.Tries = 3
			c.change(s, &config)
			f, err := Get(t.Context(), config)
			check(t, s, config, f, err)
			if s.ranges[1] != c.request || f.Resumed != c.resumed && f.Resumed != 0 {
				t.Errorf("ranges %q, resumed %d", s.ranges, f.Resumed)
			}
		})
	}
}

// TestNoValidator checks that a part is not continued if nothing can show that it is of the same
// file.
func TestNoValidator(t *testing.T) {
	s := newServer(t, 1000)
	c := s.config(t)
	c.Tries, c.Size, c.SHA256 = 1, 0, ""
	s.etag, s.cut = "", []int{400}
	if _, err := Get(t.Context(), c); err == nil {
		t.Fatal("the first response was cut off")
	}
	f, err := Get(t.Context(), c)
	check(t, s, c, f, err)
	if !slices.Equal(s.ranges, []string{"", ""}) {
		t.Errorf("ranges %q", s.ranges)
	}
}

// TestCompletePart checks a part that lacks nothing, as after a kill before its rename.
func TestCompletePart(t *testing.T) {
	for _, known := range []bool{true, false} {
		s := newServer(t, 1000)
		c := s.config(t)
		p, err := openPart(c)
		if err == nil {
			p.state = state{URL: c.URL, Validator: s.etag}
			err = errors.Join(p.write(s.content), p.save(), p.file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if !known {
			c.Size, c.SHA256 = 0, "" // the server answers 416
		}
		f, err := Get(t.Context(), c)
		check(t, s, c, f, err)
		if requests := len(s.ranges); (requests == 0) != known || f.Resumed != 1000 {
			t.Errorf("%d requests, %d bytes resumed", requests, f.Resumed)
		}
	}
}

func TestGetFails(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*server, *Config)
		want string
		kept int64
	}{
		{"not found", func(s *server, _ *Config) { s.statuses = []int{404} },
			"URL/file: the server answered 404 Not Found; check the URL", 0},
		{"forbidden after a cut", func(s *server, _ *Config) { s.cut = []int{10}; s.statuses = []int{0, 403} },
			"URL/file: the server answered 403 Forbidden", 10},
		{"always unavailable", func(s *server, c *Config) { s.statuses = slices.Repeat([]int{503}, 9); c.Tries = 3 },
			"URL/file: the server answered 503 Service Unavailable, after 3 attempts; 0 bytes are kept", 0},
		{"larger than it must be", func(_ *server, c *Config) { c.Size = 999 },
			"the file at the server has 1000 bytes and must have 999; it has been replaced", 0},
		{"larger, without a length", func(s *server, c *Config) { s.noLength, c.Size = true, 999 },
			"the server sent more than the 999 bytes that the file must have", 0},
		{"replaced after a cut", func(s *server, _ *Config) { s.cut, s.changesAt = []int{10}, 2 },
			"the file at the server has 1008 bytes and must have 1000", 10},
		{"another checksum", func(_ *server, c *Config) { c.SHA256 = strings.Repeat("0", 64) },
			"; nothing was kept", 0},
		{"never a range", func(s *server, c *Config) {
			s.noRange, s.cut, c.Tries = true, slices.Repeat([]int{100}, 50), 4
		}, "unexpected EOF, after 4 attempts; 100 bytes are kept", 100},
		{"a range that does not follow", func(s *server, c *Config) {
			s.cut, s.badRange, c.Tries = slices.Repeat([]int{100}, 50), "bytes 5-999/1000", 3
		}, "after 3 attempts", -1},
		{"encoded", func(s *server, _ *Config) { s.encoded = true }, `the server sends the file encoded as "gzip"`, 0},
		{"a bad checksum", func(_ *server, c *Config) { c.SHA256 = "abc" },
			`sha256 "abc" must be 64 hexadecimal digits`, -1},
		{"http", func(_ *server, c *Config) { c.URL = "http://u:p@example.org/x?secret" },
			"URL http://example.org/x must be https; http is allowed only for this machine", -1},
		{"no host", func(_ *server, c *Config) { c.URL = "file:///etc/passwd" }, "has no host", -1},
		{"no URL", func(_ *server, c *Config) { c.URL = "https://%zz" }, "invalid URL escape", -1},
		{"no folder", func(_ *server, c *Config) { c.Path = filepath.Join(c.Path, "x") }, "lock ", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, 1000)
			config := s.config(t)
			c.set(s, &config)
			f, err := Get(t.Context(), config)
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), s.URL, "URL"), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := os.Stat(config.Path); err == nil || f != (File{}) {
				t.Error("there is a file", f)
			}
			if info, err := os.Stat(config.Path + partSuffix); c.kept >= 0 && (err != nil || info.Size() != c.kept) {
				t.Errorf("kept: %v, %v, want %d", info, err, c.kept)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	s := newServer(t, 1000)
	var to string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer front.Close()
	c := s.config(t)
	c.URL, to = front.URL+"/file?token=secret", s.URL+"/cdn?signature=secret"
	s.cut = []int{300}
	f, err := Get(t.Context(), c)
	check(t, s, c, f, err)
	for location, want := range map[string]string{
		"http://example.org/x?secret": "must be https", front.URL: "more than 10 redirects",
	} {
		to, c.Path = location, filepath.Join(t.TempDir(), "f")
		_, err := Get(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", location, err)
		}
	}
}

func TestPresent(t *testing.T) {
	s := newServer(t, 1000)
	c := s.config(t)
	if _, err := Get(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f, err := Get(t.Context(), c)
	check(t, s, c, f, err)
	if !f.Present || len(s.ranges) != 1 {
		t.Errorf("%+v after %d requests", f, len(s.ranges))
	}
	c.SHA256 = strings.Repeat("0", 64)
	if _, err := Get(t.Context(), c); err == nil || !strings.Contains(err.Error(), "remove it to download it again") {
		t.Error(err)
	}
	c.SHA256, c.Size = "", 999
	if _, err := Get(t.Context(), c); err == nil || !strings.Contains(err.Error(), "1000 bytes and must have 999") {
		t.Error(err)
	}
	c.Path = t.TempDir()
	if _, err := Get(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}

func TestOneProcess(t *testing.T) {
	s := newServer(t, 1000)
	c := s.config(t)
	other := flock.New(c.Path + lockSuffix)
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { _ = other.Unlock() }()
	if _, err := Get(t.Context(), c); err == nil || !strings.Contains(err.Error(), "by another process") {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	s := newServer(t, 300_000)
	c := s.config(t)
	s.cut, s.stall = []int{200_000}, true
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	var last int64
	c.Progress = func(done, total int64) {
		if last = done; done == 200_000 && total == 300_000 {
			cancel(why)
		}
	}
	_, err := Get(ctx, c)
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "200000 bytes are kept") || last != 200_000 {
		t.Fatal(err, last)
	}
	s.stall = false
	f, err := Get(t.Context(), c)
	check(t, s, c, f, err)
	if f.Resumed != 200_000 {
		t.Error(f)
	}
}

// TestAnyFaults checks that any sequence of faults and calls ends with the right file or an error
// that leaves none.
func TestAnyFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newServer(t, rapid.IntRange(0, 5000).Draw(rt, "size"))
		c := s.config(t)
		if c.Tries = 2; rapid.Bool().Draw(rt, "unknown") {
			c.Size, c.SHA256 = 0, ""
		}
		s.noRange = rapid.Bool().Draw(rt, "noRange")
		s.cut = rapid.SliceOfN(rapid.IntRange(-1, 3000), 0, 8).Draw(rt, "cuts")
		s.statuses = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 503}), 0, 8).Draw(rt, "statuses")
		s.changesAt = rapid.IntRange(0, 6).Draw(rt, "changesAt")
		for range 20 {
			f, err := Get(t.Context(), c)
			if err == nil {
				check(t, s, c, f, nil)
				return
			}
			if _, statErr := os.Stat(c.Path); statErr == nil {
				rt.Fatal("there is a file after ", err)
			}
			if strings.Contains(err.Error(), "has been replaced") || strings.Contains(err.Error(), "nothing was kept") {
				if s.etag == `"v1"` {
					rt.Fatal(err)
				}
				return
			}
		}
		rt.Fatal("no end")
	})
}

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "[]")
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "download")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := Get(context.Background(), Config{
		URL: server.URL, Path: filepath.Join(dir, "benchmark.json"), Size: 2,
		SHA256: "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
	})
	fmt.Println(f.Size, f.SHA256[:8], err)
	// Output: 2 4f53cda1 <nil>
}
