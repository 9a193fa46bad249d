package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// keysText returns a keys file with the keys of acme that are given as name and further fields.
func keysText(entries ...string) string {
	var b strings.Builder
	b.WriteString("version: 2\nkeys:\n")
	for i := 0; i < len(entries); i += 2 {
		fmt.Fprintf(&b, "  - {name: %s, tenant: acme, sha256: %s, brains: ['*'], roles: [admin]%s}\n",
			entries[i], HashToken(tokenOf(entries[i])), entries[i+1])
	}
	return b.String()
}

// followed serves the keys of a file, which rewrite replaces and puts in force.
func followed(t *testing.T, text string) (s *server, f *KeysFile, rewrite func(string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	log := &awaittest.Log{}
	f, err := OpenKeysFile(file, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s = startWith(t, llm.NewFake(), llm.FakeModel, f.Keys())
	s.log = log
	if _, err := s.brains.Create(t.Context(), "acme", protocol.CreateBrain{ID: "eval"}); err != nil {
		t.Fatal(err)
	}
	f.look(time.Now(), false)
	return s, f, func(text string) {
		t.Helper()
		write(text)
		f.look(time.Now(), false)
	}
}

func (s *server) wantStatus(t *testing.T, key string, want int) {
	t.Helper()
	if got := s.status(t, "GET", "/v1/brains", "", as(key)...); got != want {
		t.Errorf("%s: got %d, want %d", key, got, want)
	}
}

// TestKeysAreReloaded: a changed file is in force, and a broken one changes nothing.
func TestKeysAreReloaded(t *testing.T) {
	s, f, rewrite := followed(t, keysText("a", "", "b", ""))
	s.wantStatus(t, "a", 200)
	s.wantStatus(t, "c", 403)
	rewrite(keysText("a", "", "c", ""))
	s.wantStatus(t, "a", 200)
	s.wantStatus(t, "b", 403)
	s.wantStatus(t, "c", 200)
	for text, want := range map[string]string{
		keysText("a", ", expires: soon"):                    `:3: \"soon\" is not a time such as 2027-01-31`,
		keysText("a", ", role: boss"):                       `:3: unknown field role`,
		"keys: []":                                          "contains no key: to withdraw the last one, use evalctl serve keys revoke",
		strings.Replace(keysText("a", ""), ": 2", ": 3", 1): "version 3 of keys files is not supported",
	} {
		rewrite(text)
		rewrite(text) // is logged once
		if got := s.log.String(); strings.Count(got, want) != 1 {
			t.Errorf("%d times %s in the log:\n%s", strings.Count(got, want), want, got)
		}
		s.wantStatus(t, "a", 200)
		s.wantStatus(t, "c", 200)
	}
	if err := os.Remove(f.file); err != nil {
		t.Fatal(err)
	}
	f.look(time.Now(), false)
	s.wantStatus(t, "c", 200)
	rewrite(keysText("b", ""))
	s.wantStatus(t, "b", 200)
	s.wantStatus(t, "c", 403)
	if strings.Contains(s.log.String(), "evk_") {
		t.Errorf("the log has a token:\n%s", s.log)
	}
}

// TestSameTimeAndSize: a change is found even if the file looks the same to stat.
func TestSameTimeAndSize(t *testing.T) {
	s, f, _ := followed(t, keysText("a", ""))
	info, err := os.Stat(f.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.file, []byte(keysText("b", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(f.file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	f.look(time.Now(), false)
	s.wantStatus(t, "b", 200)
	f.look(time.Now().Add(time.Hour), false)
	if f.info == nil {
		t.Error("an old file is read again every second")
	}
}

// TestEndedKeys: a request with an expired or revoked key learns why it is rejected.
func TestEndedKeys(t *testing.T) {
	s, _, _ := followed(t, keysText("late", ", expires: 2020-01-01", "gone", ", revoked: 2021-02-03T04:05:06Z",
		"good", ", expires: 9000-01-01"))
	s.wantStatus(t, "good", 200)
	for key, want := range map[string]string{
		"late": "key late expired at 2020-01-01T00:00:00Z: ask for a new one",
		"gone": "key gone was revoked at 2021-02-03T04:05:06Z",
	} {
		resp := s.do(t, "GET", "/v1/brains", "", as(key)...)
		defer resp.Body.Close()
		if got := resp.Header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token"` {
			t.Errorf("%s: WWW-Authenticate: %s", key, got)
		}
		if body := s.expect(t, 401, "GET", "/v1/brains", "", as(key)...); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %s", key, body, want)
		}
	}
}

// watchAs attaches to the changes of the brain with a key.
func watchAs(t *testing.T, s *server, key string) *stream {
	t.Helper()
	resp := s.do(t, "GET", eventsPath, "", as(key)...)
	if resp.StatusCode != 200 {
		t.Fatalf("attach: %s", resp.Status)
	}
	return begun(t, resp)
}

// begun returns a stream of changes that has begun.
func begun(t *testing.T, resp *http.Response) *stream {
	t.Helper()
	st := streamOf(t, resp)
	if e := st.next(); e.Name != "ready" {
		t.Fatalf("the stream begins with %+v", e)
	}
	return st
}

// TestStreamsOfEndedKeys: the change streams of a key end when it is revoked, removed or changed or
// when it expires, and no others do.
func TestStreamsOfEndedKeys(t *testing.T) {
	t.Parallel()
	s, _, rewrite := followed(t, keysText("kept", "", "revoked", "", "removed", "", "changed", "", "short", ""))
	kept := watchAs(t, s, "kept")
	var ended []*stream
	for _, key := range []string{"revoked", "removed", "changed"} {
		ended = append(ended, watchAs(t, s, key))
	}
	expiring := func(within time.Duration) {
		rewrite(keysText("kept", "", "revoked", ", revoked: 2024-01-01", "changed", ", rate: {per_second: 9, burst: 9}",
			"short", ", expires: "+time.Now().Add(within).UTC().Format(time.RFC3339)))
	}
	within := 2 * time.Second
	expiring(within)
	for _, st := range ended {
		st.wantEnd()
	}
	// On a busy machine the key may have expired before its stream begins.
	for resp := s.do(t, "GET", eventsPath, "", as("short")...); ; resp = s.do(t, "GET", eventsPath, "", as("short")...) {
		if resp.StatusCode == 200 {
			begun(t, resp).wantEnd()
			break
		}
		if within *= 2; within > time.Minute {
			t.Fatalf("attach: %s", resp.Status)
		}
		expiring(within)
	}
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", "x", as("kept", "Content-Type", octets)...)
	if c := kept.change(); c.Path != "a.md" {
		t.Errorf("the kept stream has %+v", c)
	}
}

// TestRateSurvivesReload: a reload does not refill the rate of a key.
func TestRateSurvivesReload(t *testing.T) {
	const rate = ", rate: {per_second: 0.001, burst: 2}"
	s, _, rewrite := followed(t, keysText("a", rate))
	s.wantStatus(t, "a", 200)
	s.wantStatus(t, "a", 200)
	rewrite(keysText("a", rate, "b", ""))
	s.wantStatus(t, "a", 429)
	rewrite(keysText("a", rate+", expires: 9000-01-01"))
	s.wantStatus(t, "a", 429)
}

// TestLastUses: uses are recorded when the daemon ends, with those that other daemons recorded.
func TestLastUses(t *testing.T) {
	s, f, rewrite := followed(t, keysText("a", "", "b", "", "c", ""))
	start := NewKeyTime(time.Now())
	s.wantStatus(t, "a", 200)
	s.wantStatus(t, "stranger", 403)
	idOf := func(name string) string { return HashToken(tokenOf(name))[:keyIDLength] }
	other := NewKeyTime(time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC))
	used := fmt.Sprintf(`{"version":1,"last_used":{%q:"2024-01-02T03:04:05Z",%q:"2024-01-02T03:04:05Z",%q:"2024-01-02T03:04:05Z"}}`,
		idOf("a"), idOf("b"), idOf("removed"))
	if err := os.WriteFile(f.file+usesSuffix, []byte(used), 0o600); err != nil {
		t.Fatal(err)
	}
	rewrite(keysText("a", ", expires: 9000-01-01", "b", "", "c", "")) // keeps the uses
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Follow(ctx, nil)
	got, err := LastUses(f.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[idOf("a")].Before(start.Time) || got[idOf("b")] != other {
		t.Errorf("got %v", got)
	}
	data, _ := os.ReadFile(f.file + usesSuffix)
	if text := string(data); strings.Contains(text, "evk_") || strings.Contains(text, HashToken(tokenOf("a"))) {
		t.Errorf("the file has a token or a whole hash:\n%s", text)
	}
	// A file that is not understood is left as it is.
	for _, text := range []string{`{"version":2}`, `{`} {
		if err := os.WriteFile(f.file+usesSuffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f.record(time.Now())
		if data, _ := os.ReadFile(f.file + usesSuffix); string(data) != text {
			t.Errorf("%s became %s", text, data)
		}
	}
	if got := s.log.String(); strings.Count(got, "last uses of keys are not recorded") != 1 {
		t.Errorf("the log:\n%s", got)
	}
}

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 500, time.UTC)
	for text, want := range map[string]string{
		"2027-01-31": "2027-01-31T00:00:00Z", "2027-01-31T18:00:00+02:00": "2027-01-31T16:00:00Z",
		"30d": "2026-05-31T12:00:00Z", "36h": "2026-05-03T00:00:00Z", "90m": "2026-05-01T13:30:00Z",
		"": "", "soon": "", "d": "", "-1d": "", "0d": "", "99999d": "", "1.5d": "", "2026-05-01": "", "-1h": "", "2027-02-30": "", "0s": "",
	} {
		got, err := ParseExpiry(text, now)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
}

// TestRevokeKey revokes in files of every layout.
func TestRevokeKey(t *testing.T) {
	two := fmt.Sprintf(goodKeys, hash, HashToken("evk_y"))
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	json := `{"keys":[{"name":"ci","tenant":"t","sha256":"` + hash + `","brains":["*"],"roles":["admin"]}]}`
	for name, content := range map[string]string{"two.yaml": two, "flow.yaml": json, "one.json": json} {
		for _, which := range []string{"ci", hash[:minPrefix], strings.ToUpper(hash)} {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			k, before, err := RevokeKey(file, which, now)
			if err != nil || before || k.Name != "ci" || k.Revoked != NewKeyTime(now) {
				t.Errorf("%s %s: %+v, %v", name, which, k, err)
			}
			keys, err := ReadKeys(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range keys.List() {
				if k.Revoked.IsZero() != (k.Name != "ci") {
					t.Errorf("%s: %+v", name, k)
				}
			}
			if data, _ := os.ReadFile(file); strings.Contains(content, "# the build") &&
				(!strings.HasPrefix(string(data), "# Who may") || !strings.Contains(string(data), "# the build")) {
				t.Errorf("comments are lost:\n%s", data)
			}
			if again, before, err := RevokeKey(file, "ci", now.Add(time.Hour)); err != nil || !before || again.Revoked != k.Revoked {
				t.Errorf("a second time: %+v, %v", again, err)
			}
		}
	}
}

func TestRevokeKeyNeedsOneKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	prefix := HashToken("evk_x")[:minPrefix]
	text := strings.Replace(fmt.Sprintf(goodKeys, hash, HashToken("evk_y")), "name: bot", "name: '"+prefix+"'", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for which, want := range map[string]string{
		"nobody": `no key has the name "nobody"`, "": `no key has the name ""`, hash[:minPrefix-1]: "no key has the name",
		prefix: "may mean ci (" + hash[:keyIDLength] + ") or " + prefix,
	} {
		if _, _, err := RevokeKey(file, which, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", which, err, want)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != text {
		t.Errorf("the file became\n%s", data)
	}
	if _, _, err := RevokeKey(filepath.Join(t.TempDir(), "none.yaml"), "ci", time.Now()); err == nil {
		t.Error("a missing file was accepted")
	}
}
