package view

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// hostile is a text that must be shown and not interpreted.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\u202e"

// save writes a result of one night. A question that the outcomes mark with + has passed.
func save(t *testing.T, root, sdk string, days int, outcomes string, change func(*result.Result)) string {
	t.Helper()
	at := time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC).AddDate(0, 0, days)
	f := resulttest.New(sdk, at, outcomes)
	f.Identity.Dataset.Path = "data/" + hostile + ".jsonl"
	if change != nil {
		change(&f.Result)
	}
	for i := range f.Questions {
		q := &f.Questions[i]
		q.ID, q.Question, q.Answer, q.Reason = q.ID+hostile, hostile, hostile, hostile
	}
	f.Fill()
	return f.Save(t, root, at.Format(time.DateOnly), sdk+".json")
}

func put(t *testing.T, data []byte, elements ...string) string {
	t.Helper()
	return filetest.Write(t, filepath.Join(elements...), data)
}

// site is a folder that is served.
type site struct {
	*httptest.Server
	t *testing.T
}

func serve(t *testing.T, root string) *site {
	s := httptest.NewServer(New(root))
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(s.Close)
	return &site{s, t}
}

// do sends a request and returns the response with its body.
func (s *site) do(method, path string, change func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(body)
}

// page gets a page, checks what holds for all of them, and returns its text and its links.
func (s *site) page(path string, status int) (text string, links []string) {
	s.t.Helper()
	res, body := s.do(http.MethodGet, path, nil)
	if res.StatusCode != status {
		s.t.Fatalf("%s: status %d, want %d: %s", path, res.StatusCode, status, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := res.Header.Get(name); got != want {
			s.t.Errorf("%s: %s is %q, want %q", path, name, got, want)
		}
	}
	policy := res.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy+html.UnescapeString(body), "default-src 'none'") || strings.Contains(policy, "unsafe") {
		s.t.Errorf("%s: policy %q", path, policy)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") || strings.Contains(body, "\u202e") {
		s.t.Errorf("%s: texts are interpreted:\n%s", path, body)
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Data == "table" {
			s.wantAligned(path, n)
		}
		for _, a := range n.Attr {
			if n.Type == html.ElementNode && n.Data == "a" && a.Key == "href" {
				links = append(links, a.Val)
			}
			if n.Data == "input" && a.Key == "value" {
				links = append(links, "r="+a.Val)
			}
		}
		if n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script" {
			b.WriteString(n.Data)
		}
	}
	return b.String(), links
}

// wantAligned checks that the heading of a column of figures is aligned as these are.
func (s *site) wantAligned(path string, table *html.Node) {
	s.t.Helper()
	var headings []*html.Node
	for row := range table.Descendants() {
		if row.Data != "tr" {
			continue
		}
		var cells []*html.Node
		for cell := range row.ChildNodes() {
			cells = append(cells, cell)
		}
		if headings == nil {
			headings = cells
		}
		for i, cell := range cells {
			if slices.Contains(cell.Attr, html.Attribute{Key: "class", Val: "n"}) && !slices.Contains(headings[i].Attr, html.Attribute{Key: "class", Val: "n"}) {
				s.t.Errorf("%s: the heading %q is not aligned as its figures", path, headings[i].FirstChild.Data)
			}
		}
	}
}

// linked returns the links with this beginning.
func linked(links []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(links), func(l string) bool { return !strings.HasPrefix(l, prefix) })
}

func wantText(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q is missing in\n%s", what, w, text)
		}
	}
}

// TestPages follows the links of the list to every kind of page.
func TestPages(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		outcomes := "+" + strings.Repeat("+", 19)
		if i >= 6 {
			outcomes = "-" + strings.Repeat("-", 7) + strings.Repeat("+", 12)
		}
		save(t, root, "go", i, outcomes, func(r *result.Result) { r.Identity.Daemon.Version = fmt.Sprint("1.", i/6) })
	}
	save(t, root, "ts", 9, strings.Repeat("+", 20), nil)
	put(t, []byte(`{"questions":`), root, "half.json")
	put(t, []byte(`{}`), root, "other.json")
	s := serve(t, root)

	text, links := s.page("/", http.StatusOK)
	wantText(t, "list", text, "Results in "+root, "<img src=x onerror=alert(2)>[U+202E]", "2026-09-10 03:00", "12/20", "0.600", "half.json: byte", "Not listed: 1 other JSON file.")
	results := linked(links, "/result/")
	if len(results) != 11 {
		t.Fatalf("the list has %d results", len(results))
	}
	text, more := s.page(results[0], http.StatusOK)
	wantText(t, "result", text, "12 of 20", "All results", "Trend")
	if len(linked(more, "/trend/")) != 1 || len(linked(more, "/result/")) < 9 {
		t.Errorf("the page of a result has the links %q", more)
	}
	trend := linked(links, "/trend/")
	if len(trend) != 2 {
		t.Fatalf("the list has the trends %q", trend)
	}
	text, _ = s.page(trend[0], http.StatusOK)
	wantText(t, "trend", text, "2026-09-07, 1.000 → 0.600, 6 nights before, 4 since", "with it changed daemon.version", "broke", "q-00", "++++++----")

	ids := linked(links, "r=")
	text, _ = s.page("/compare?"+ids[0]+"&"+ids[1], http.StatusOK)
	wantText(t, "compare", text, "All results", "McNemar")
	text, _ = s.page("/compare?"+ids[0], http.StatusBadRequest)
	wantText(t, "one result", text, "Select from 2 to 8 results")
	s.page("/compare", http.StatusBadRequest)
	s.page("/compare?"+ids[0]+"&"+ids[0], http.StatusBadRequest)
	s.page("/compare?"+ids[0]+"&r=none", http.StatusNotFound)
}

// TestLinesAlone: results that do not record a setting have a trend each, here without a score.
func TestLinesAlone(t *testing.T) {
	root := t.TempDir()
	for i := range 2 {
		save(t, root, "go", i, "++++", func(r *result.Result) {
			r.Identity.Scorer, r.Identity.Imported, r.Stopped = scorer.Imported, &result.ImportedID{Formats: []string{"mem0"}}, result.StopInterrupted
		})
	}
	s := serve(t, root)
	_, links := s.page("/", http.StatusOK)
	trends := linked(links, "/trend/")
	if len(trends) != 2 {
		t.Fatalf("the list has the trends %q", trends)
	}
	for i, night := range []string{"2026-09-02", "2026-09-01"} {
		text, _ := s.page(trends[i], http.StatusOK)
		wantText(t, "trend", text, night, "not compared with other results")
	}
	if _, body := s.do(http.MethodGet, "/", nil); strings.Count(body, `aria-label="pass rates: no night has a score"`) != 2 {
		t.Error("a line without a score is said to have rates")
	}
}

// TestIncomparable offers to compare what the results have in common.
func TestIncomparable(t *testing.T) {
	root := t.TempDir()
	save(t, root, "go", 0, "+++-", nil)
	save(t, root, "ts", 0, "++--", func(r *result.Result) { r.Identity.Dataset.SHA256 = strings.Repeat("00", 32) })
	s := serve(t, root)
	_, links := s.page("/", http.StatusOK)
	ids := linked(links, "r=")
	text, more := s.page("/compare?"+ids[0]+"&"+ids[1], http.StatusUnprocessableEntity)
	wantText(t, "incomparable", text, "The results are not comparable")
	again := linked(more, "/compare?")
	if len(again) != 1 {
		t.Fatalf("got the links %q", more)
	}
	s.page(again[0], http.StatusOK)
	res, _ := s.do(http.MethodGet, "/compare?"+ids[0]+"&"+ids[1]+"&accept=everything&intersect=1", nil)
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a wrong key: status %d", res.StatusCode)
	}
}

// TestNoPathIsOpened has requests that name files.
func TestNoPathIsOpened(t *testing.T) {
	root := t.TempDir()
	path := save(t, root, "go", 0, "+", nil)
	s := serve(t, root)
	for _, p := range []string{"/result/" + filepath.Base(path), "/result/..%2f..%2fetc%2fpasswd", "/result/%00", "/result/" + strings.ReplaceAll(path, "/", "%2f"),
		"/trend/x", "/progress/x", "/compare?r=" + path + "&r=" + path} {
		s.page(p, http.StatusNotFound)
	}
	for _, p := range []string{"/etc/passwd", "/2026-09-01/go.json", "/result/", "/result/a/b", "/../x"} {
		if res, body := s.do(http.MethodGet, p, nil); res.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", p, body)
		}
	}
}

// TestOnlyForThisMachine rejects names that a web page could have pointed to this address.
func TestOnlyForThisMachine(t *testing.T) {
	root := t.TempDir()
	save(t, root, "go", 0, "+", nil)
	s := serve(t, root)
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LocalHost:99": http.StatusOK, "[::1]:8080": http.StatusOK, "127.0.0.9": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "localhost.evil.example:80": http.StatusMisdirectedRequest,
		"10.0.0.1": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
	} {
		res, body := s.do(http.MethodGet, "/", func(r *http.Request) {
			if host != "" {
				r.Host = host
			}
		})
		if res.StatusCode != want || want != http.StatusOK && strings.Contains(body, "go.json") {
			t.Errorf("Host %q: status %d, want %d", host, res.StatusCode, want)
		}
	}
}

func TestOnlyReading(t *testing.T) {
	root := t.TempDir()
	save(t, root, "go", 0, "+", nil)
	s := serve(t, root)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		if res, _ := s.do(method, "/", nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: status %d", method, res.StatusCode)
		}
	}
	if res, body := s.do(http.MethodHead, "/", nil); res.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD: status %d, %q", res.StatusCode, body)
	}
}

// TestETag checks that a page is sent again only after the folder has changed.
func TestETag(t *testing.T) {
	root := t.TempDir()
	save(t, root, "go", 0, "+", nil)
	s := serve(t, root)
	first, _ := s.do(http.MethodGet, "/", nil)
	known := func(r *http.Request) { r.Header.Set("If-None-Match", first.Header.Get("ETag")) }
	if res, body := s.do(http.MethodGet, "/", known); res.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("status %d, %q", res.StatusCode, body)
	}
	save(t, root, "ts", 1, "+", nil)
	if res, body := s.do(http.MethodGet, "/", known); res.StatusCode != http.StatusOK || !strings.Contains(body, "ts.json") {
		t.Errorf("after a change: status %d", res.StatusCode)
	}
}

// TestProgress follows a run to its result.
func TestProgress(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "2026-09-01")
	id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Dataset: result.DatasetID{Path: hostile, Selected: 3}}
	j, err := journal.Create(dir, id, time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	s := serve(t, root)
	text, links := s.page("/", http.StatusOK)
	wantText(t, "list", text, "2026-09-01/go.journal: 0 of 3", "There are no results")
	live := linked(links, "/progress/")
	for i, r := range []result.Record{
		{ID: "q-00", Outcome: result.Scored, Passed: true, Score: new(1.0)},
		{ID: "q-01", Outcome: result.Errored, Error: &result.Failure{Message: hostile}},
	} {
		kind := journal.KindGrade
		if r.Outcome == result.Errored {
			kind = journal.KindAnswer
		}
		if err := j.Append(journal.Entry{Kind: kind, Index: i, Record: &r}); err != nil {
			t.Fatal(err)
		}
	}
	before := filetest.Read(t, j.Path())
	text, _ = s.page(live[0], http.StatusOK)
	wantText(t, "progress", text, "2 of 3 questions", "1 passed, 0 failed, 1 error, 0 unscored; 2 answered", "q-01, error: \"><script>")
	if _, body := s.do(http.MethodGet, live[0], nil); !regexp.MustCompile(`http-equiv="refresh" content="\d+"`).MatchString(body) {
		t.Error("the page is not loaded again")
	}
	if after, err := os.ReadFile(j.Path()); err != nil || string(after) != string(before) {
		t.Errorf("the journal was changed: %v", err)
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	s.page(live[0], http.StatusNotFound)
	save(t, root, "go", 0, "+--", nil)
	res, _ := s.do(http.MethodGet, live[0], nil)
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/result/") {
		t.Errorf("after the run: status %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	put(t, []byte("{}\n"), dir, "py.journal")
	text, links = s.page("/", http.StatusOK)
	wantText(t, "list", text, "py.journal: read ")
	s.page(linked(links, "/progress/")[0], http.StatusUnprocessableEntity)
}

// TestGoneFolder removes the folder while it is served.
func TestGoneFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	save(t, root, "go", 0, "+", nil)
	s := serve(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	text, _ := s.page("/", http.StatusInternalServerError)
	wantText(t, "failure", text, "The page cannot be shown", "no such file")
}

// TestConcurrentRequests is for the race detector.
func TestConcurrentRequests(t *testing.T) {
	root := t.TempDir()
	for i := range 4 {
		save(t, root, "go", i, "+-+", nil)
	}
	s := serve(t, root)
	_, links := s.page("/", http.StatusOK)
	var wait sync.WaitGroup
	for range 4 {
		for _, l := range linked(links, "/") {
			wait.Go(func() {
				if res, body := s.do(http.MethodGet, l, nil); res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s", l, res.StatusCode, body)
				}
			})
		}
	}
	awaittest.Wait(t, "wait", wait.Wait)
}
