package launch

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/filetest"
)

func TestAnnouncedURL(t *testing.T) {
	tests := map[string]string{
		"evalctl: listening on http://127.0.0.1:4711\n":   "http://127.0.0.1:4711",
		"evalctl: listening on http://127.0.0.1:4711\r\n": "http://127.0.0.1:4711",
		"evalctl: listening on http://[::1]:80":           "http://[::1]:80",
		"evalctl: listening on http://127.0.0.1:0\n":      "",
		"evalctl: listening on http://127.0.0.1:99999\n":  "",
		"evalctl: listening on http://127.0.0.1\n":        "",
		"evalctl: listening on http://127.0.0.1:80/x\n":   "",
		"evalctl: listening on http://me@127.0.0.1:80\n":  "",
		"evalctl: listening on https://127.0.0.1:80\n":    "",
		"evalctl: listening on \n":                        "",
		" evalctl: listening on http://127.0.0.1:80\n":    "",
	}
	for line, want := range tests {
		if got := announcedURL(line); got != want {
			t.Errorf("%q announces %q, want %q", line, got, want)
		}
	}
}

func TestAnnouncedWaitsForWholeLine(t *testing.T) {
	log, err := createLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintln(log, "evalctl: listening on http://127.0.0.1:1") // from an earlier daemon
	info, err := log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	tail := &capture{file: log, start: info.Size(), end: info.Size(), head: keptHead, tail: keptTail}
	for _, step := range []struct{ write, want string }{
		{"", ""},
		{"noise\nevalctl: listening on http://127.0.0.1:12", ""},
		{"34", ""},
		{"\nevalctl: listening on http://127.0.0.1:2\n", "http://127.0.0.1:1234"},
	} {
		tail.add([]byte(step.write))
		if got := tail.announced(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.write, got, step.want)
		}
	}
}

// Another file at the path of the log does not affect a daemon's own log.
func TestLogKeepsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	tail := &capture{file: log, start: info.Size(), end: info.Size(), head: keptHead, tail: keptTail}
	if err := os.Rename(path, path+".aside"); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, path, "evalctl: listening on http://127.0.0.1:1\n")
	if got := tail.announced(); got != "" {
		t.Errorf("the URL %s is from another daemon's log", got)
	}
	tail.add([]byte("evalctl: listening on http://127.0.0.1:2\n"))
	if got := tail.announced(); got != "http://127.0.0.1:2" {
		t.Errorf("announced %q", got)
	}
	if got := tail.lastLines(); !strings.HasSuffix(got, ":2") {
		t.Errorf("last lines: %s", got)
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 3*tailBytes)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank", "\n\n", nil},
		{"one", "one", []string{"one"}},
		{"line ends", "one\r\n\r\ntwo\n\n", []string{"one", "", "two"}},
		{"twenty", strings.Repeat("a\n", 5) + strings.Repeat("b\n", 20),
			strings.Split(strings.Repeat("b\n", 19)+"b", "\n")},
		{"long", "a\n" + long + "\nb", []string{strings.Repeat("x", maxRunes-1) + "…", "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filetest.Write(t, filepath.Join(t.TempDir(), "log"), "before\n"+test.text)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got := (&capture{file: f, start: int64(len("before\n")), end: int64(len("before\n" + test.text))}).lastLines()
			want := "it wrote nothing to its log " + path
			if test.want != nil {
				want = "last lines of its log " + path + ":\n  " + strings.Join(test.want, "\n  ")
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestEscapes(t *testing.T) {
	tests := map[string]string{
		"plain ünï 漢\t.":      "plain ünï 漢\t.",
		"\x1b[31mred\r\n\a":   `\x1b[31mred\r\n\a`,
		"bad\xff\xc3":         `bad\xff\xc3`,
		"\uFFFD":              "\uFFFD",
		"\u202Eabc\u2028\x7f": `\u202eabc\u2028\x7f`,
	}
	for in, want := range tests {
		if got := escaped(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzEscaped(f *testing.F) {
	for _, seed := range []string{"", "a\tb", "\x1b]0;x\a", "\xff\xfe", "\u202e\u0085", strings.Repeat("\x00", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := escaped(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 10*maxRunes {
			t.Fatalf("%q became %q", s, got)
		}
		for _, r := range got {
			if r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q kept %U", s, r)
			}
		}
	})
}

func FuzzAnnouncedURL(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1:80\n", "http://[::1]:80", "http://a:0", "http://a:80/b",
		"http://a@b:1", "http://%41:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		got := announcedURL(announcement + rest)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "http" || u.Host == "" || u.User != nil || u.Path+u.RawQuery+u.Fragment != "" {
			t.Fatalf("%q gave %q", rest, got)
		}
	})
}
