//go:build unix

package inputfile_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/inputfile"
)

const most = 100

// folder makes one file of each kind.
func folder(t *testing.T) string {
	t.Helper()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	short, err := os.MkdirTemp("", "s") //nolint:usetesting // the path of a socket has few bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	listener, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600),
		os.WriteFile(filepath.Join(dir, "mark"), []byte("\xef\xbb\xbftext"), 0o600),
		os.WriteFile(outside, []byte("secret"), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink(os.DevNull, filepath.Join(dir, "device")),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero")),
		os.Symlink("/proc/self/environ", filepath.Join(dir, "kernel")),
		os.Symlink(filepath.Join(short, "s"), filepath.Join(dir, "socket")),
		os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o600),
		os.Truncate(filepath.Join(dir, "sparse"), 1<<40),
		os.WriteFile(filepath.Join(dir, "full"), make([]byte, most), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestKinds(t *testing.T) {
	dir := folder(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]struct{ says, in string }{
		"file": {"", ""}, "mark": {"", ""}, "link": {"", ""}, "full": {"", ""},
		"out":     {"", "path escapes"},
		"pipe":    {"is not a regular file but a pipe", "is not a regular file but a pipe"},
		"folder":  {"is not a regular file but a folder", "is not a regular file but a folder"},
		"device":  {"is not a regular file but a device", "path escapes"},
		"zero":    {"is not a regular file but a device", "path escapes"},
		"socket":  {"", "path escapes"}, // the system refuses it
		"sparse":  {"is too large: it has 1099511627776 bytes, and at most 100 are read", "is too large"},
		"missing": {"no such file", "no such file"},
		"kernel":  {"is not a regular file but a virtual file of the kernel", "path escapes"},
	} {
		path := filepath.Join(dir, name)
		_, err := inputfile.Read(path, most)
		_, inErr := inputfile.ReadIn(root, name, most)
		if name == "socket" && err != nil {
			want.says = err.Error()
		}
		if name == "kernel" && runtime.GOOS != "linux" {
			continue
		}
		for _, got := range []struct {
			what, says string
			err        error
		}{{"Read", want.says, err}, {"Open", want.says, inputfile.Check(path, most)}, {"ReadIn", want.in, inErr}} {
			switch {
			case got.says == "" && got.err != nil, got.says != "" && (got.err == nil || !strings.Contains(got.err.Error(), got.says)):
				t.Errorf("%s of %s: %v, want %q", got.what, name, got.err, got.says)
			case got.err != nil && (!strings.Contains(got.err.Error(), name) || strings.Contains(got.err.Error(), "secret")):
				t.Errorf("%s of %s: the error is %v", got.what, name, got.err)
			}
		}
	}
	if text, err := inputfile.ReadText(filepath.Join(dir, "mark"), most); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPipes checks that a pipe without a name is read up to the limit, and only as a stream.
func TestPipes(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("there is no /dev/fd")
	}
	for size, want := range map[int]error{0: nil, most: nil, most + 1: inputfile.ErrTooLarge, 1 << 20: inputfile.ErrTooLarge} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("/dev/fd", fdOf(t, r))
		if err := inputfile.Check(path, most); !errors.Is(err, inputfile.ErrNotRegular) {
			t.Errorf("a pipe is opened as a file: %v", err)
		}
		go func() {
			_, _ = io.WriteString(w, strings.Repeat("x", size))
			_ = w.Close()
		}()
		text, err := inputfile.Read(path, most)
		if !errors.Is(err, want) || want == nil && len(text) != size {
			t.Errorf("%d bytes: got %d, %v", size, len(text), err)
		}
		_ = r.Close()
	}
}

func fdOf(t *testing.T, f *os.File) string {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	if err := conn.Control(func(fd uintptr) { name = strconv.Itoa(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestProcessSubstitution reads what a shell passes as <(COMMAND), and standard input by its name.
func TestProcessSubstitution(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		`"$0" -test.run TestHelper <(sleep 0.1; echo hello)`: "hello", `echo hello | "$0" -test.run TestHelper /dev/stdin`: "hello",
		`"$0" -test.run TestHelper /dev/stdin < <(echo hello)`: "hello", `"$0" -test.run TestHelper /dev/stdin </dev/null`: "a device",
	} {
		cmd := exec.CommandContext(t.Context(), bash, "-c", script, self)
		cmd.Env = append(os.Environ(), "INPUTFILE_HELPER=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", script, err, out)
		}
	}
}

func TestHelper(t *testing.T) {
	if os.Getenv("INPUTFILE_HELPER") == "" {
		t.Skip("only for TestProcessSubstitution")
	}
	text, err := inputfile.Read(os.Args[len(os.Args)-1], most)
	t.Logf("%s %v", text, err)
	os.Stdout.WriteString(string(text))
	if err != nil {
		os.Stdout.WriteString(err.Error())
	}
}

func TestLine(t *testing.T) {
	zeros := strings.Repeat("\x00", 40<<20)
	r := bufio.NewReaderSize(strings.NewReader("{}\n\nx\n"+zeros+"\n{"), 16)
	for i, want := range []string{"{}\n", "\n", "x\n"} {
		if line, err := inputfile.Line(r); string(line) != want || err != nil {
			t.Errorf("line %d: %q, %v", i+1, line, err)
		}
	}
	if line, err := inputfile.Line(r); err != nil || len(line) > 33<<20 || !strings.HasPrefix(zeros, string(line)) {
		t.Errorf("zeros: %d bytes, %v", len(line), err)
	}
	for range 2 {
		if line, err := inputfile.Line(r); err == nil && strings.Trim(string(line), "\x00\n") == "" {
			continue
		} else if string(line) != "{" || !errors.Is(err, io.EOF) {
			t.Errorf("the last line: %d bytes, %v", len(line), err)
		}
	}
}

// TestTable checks that rows that end with CR alone end with LF, and that texts in quotation marks
// stay as they are.
func TestTable(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\r1,2\r": "a,b\n1,2\n", "a,b\r\n1,2\r\n": "a,b\r\n1,2\r\n", "a\n\"x\ry\"\rb": "a\n\"x\ry\"\nb",
		"a\n\"x\"\"\ry\"": "a\n\"x\"\"\ry\"", "plain": "plain", "\r": "\n",
	} {
		if got := string(inputfile.Table([]byte(text), true)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := string(inputfile.Table([]byte("5\" tube\rx"), false)); got != "5\" tube\nx" {
		t.Errorf("without quotes: %q", got)
	}
}
