//go:build unix

package launch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
)

// maxLog is the largest size of a log.
const maxLog = keptHead + dropMarkLen + 2*keptTail + 64<<10

// floodLines is how many lines the role flood writes before it waits or exits.
const floodLines = 40 << 20 / len("line 000000000000\n")

// floodRole is a daemon that writes numbered lines: forever, or until it dies after floodLines.
func floodRole(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	go func() {
		out := bufio.NewWriter(os.Stdout)
		for n := 0; args[1] == "forever" || n < floodLines; n++ {
			fmt.Fprintf(out, "line %012d\n", n)
		}
		_ = out.Flush()
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	}()
	return serveOn(l, 200, `{"ok":true}`)
}

// TestCaptureKeepsBothEnds compares the log with all that was written, after every write.
func TestCaptureKeepsBothEnds(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		file, err := os.CreateTemp(dir, "log")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		const before = "of an earlier daemon\n"
		if _, err := file.WriteString(before); err != nil {
			t.Fatal(err)
		}
		head, tail := rapid.Int64Range(0, 50).Draw(t, "head"), rapid.Int64Range(1, 200).Draw(t, "tail")
		start := int64(len(before))
		c := &capture{file: file, start: start, end: start, head: head, tail: tail}
		var all []byte
		for i := range rapid.IntRange(1, 40).Draw(t, "writes") {
			data := bytes.Repeat([]byte{byte('a' + i%26)}, rapid.IntRange(0, 300).Draw(t, "size"))
			all = append(all, data...)
			c.add(data)
			got, err := os.ReadFile(file.Name())
			if err != nil || c.problem() != nil {
				t.Fatal(err, c.problem())
			}
			kept, ok := bytes.CutPrefix(got, []byte(before))
			if !ok || !bytes.HasPrefix(kept, all[:min(head, int64(len(all)))]) {
				t.Fatalf("the head is lost: %q of %q", got, all)
			}
			if c.dropped == 0 {
				if !bytes.Equal(kept, all) {
					t.Fatalf("got %q, want %q", kept, all)
				}
				continue
			}
			rest := kept[head:]
			mark := fmt.Sprintf(dropMark, c.dropped)
			end, ok := bytes.CutPrefix(rest, []byte(mark))
			if !ok || int64(len(end)) < tail || !bytes.HasSuffix(all, end) || head+c.dropped+int64(len(end)) != int64(len(all)) {
				t.Fatalf("after the head: %q, want %q and the end of %q", rest, mark, all)
			}
			if int64(len(kept)) >= head+dropMarkLen+2*tail+300 {
				t.Fatalf("the log has %d bytes", len(kept))
			}
		}
	})
}

// TestFloodingDaemonDies checks the log of a daemon that dies after 40 MiB.
func TestFloodingDaemonDies(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.profile("flood", "dies"))
	awaittest.Receive(t, "d.Done", d.Done())
	wantError(t, d.Err(), "exit status 3", fmt.Sprintf("line %012d", floodLines-1), "last words")
	text := readLog(t, e.opts.LogPath)
	if !bytes.HasSuffix(text, []byte("\nlast words\n")) {
		t.Errorf("the log ends with %q", text[len(text)-60:])
	}
	first, dropped, last := lineNumbers(t, text)
	if first != 0 || last != int64(floodLines-1) || dropped == 0 {
		t.Errorf("the log has the lines %d to %d, and %d bytes were dropped", first, last, dropped)
	}
}

// TestFloodingDaemonOfAKilledLauncher kills the process that reads the output, at random instants.
func TestFloodingDaemonOfAKilledLauncher(t *testing.T) {
	for round := range 4 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			e := newTestEnv(t)
			cmd := e.launcher(t, launchTask{Profile: e.profile("flood", "forever"), Options: e.opts})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaittest.Until(t, "dropped bytes", func() bool {
				text, _ := os.ReadFile(e.opts.LogPath)
				return bytes.Contains(text, []byte("were dropped here"))
			})
			time.Sleep(rand.N(50 * time.Millisecond))
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			awaittest.Until(t, "end of the daemon", func() bool { return len(e.running(t)) == 0 })
			first, _, last := lineNumbers(t, readLog(t, e.opts.LogPath))
			if first != 0 || last < int64(keptHead/len("line 000000000000\n")) {
				t.Errorf("the log has the lines %d to %d", first, last)
			}
		})
	}
}

func readLog(t *testing.T, path string) []byte {
	t.Helper()
	text := filetest.Read(t, path)
	if len(text) > int(maxLog) {
		t.Errorf("the log has %d bytes", len(text))
	}
	return text
}

var marked = regexp.MustCompile(`evalctl: +([0-9]+) bytes of the log were dropped here`)

// lineNumbers returns the numbers of the first and the last whole line of the role flood in a log,
// and the number at its mark. The lines of each end must have all numbers in order.
func lineNumbers(t *testing.T, text []byte) (first, dropped, last int64) {
	t.Helper()
	ends := [][]byte{text[:keptHead], text[max(0, len(text)-keptTail):]}
	if m := marked.FindSubmatch(text); m != nil {
		dropped, _ = strconv.ParseInt(string(m[1]), 10, 64)
	}
	for i, end := range ends {
		previous := int64(-1)
		for line := range bytes.Lines(end) {
			digits, ok := strings.CutPrefix(string(line), "line ")
			if !ok || len(line) != len("line 000000000000\n") {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			if err != nil || previous >= 0 && n != previous+1 {
				t.Fatalf("line %q after %d", line, previous)
			}
			if i == 0 && previous < 0 {
				first = n
			}
			previous, last = n, n
		}
	}
	return first, dropped, last
}

// TestCaptureGoesOnWithoutADisk checks that a daemon is not blocked by a log that cannot be
// written.
func TestCaptureGoesOnWithoutADisk(t *testing.T) {
	path := filetest.Write(t, filepath.Join(t.TempDir(), "log"), "")
	file, err := os.Open(path) // only for reading
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c, output, err := newCapture(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20 // more than a pipe has room for
	if _, err := output.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	_ = output.Close()
	c.finish()
	if got := c.lastLines(); !strings.Contains(got, fmt.Sprintf("%d bytes of the log could not be written: ", size)) {
		t.Errorf("got %s", got)
	}
}

// TestFinishWithoutTheEnd checks that a process outside the groups that keeps the pipe open is not
// waited for.
func TestFinishWithoutTheEnd(t *testing.T) {
	t.Parallel()
	file, err := createLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c, output, err := newCapture(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	if _, err := io.WriteString(output, "text\n"); err != nil {
		t.Fatal(err)
	}
	c.finish()
	if got := c.lastLines(); !strings.HasSuffix(got, "\n  text") {
		t.Errorf("got %s", got)
	}
}

// BenchmarkLog measures how fast a daemon can write its log: to the file itself, and through a
// pipe.
func BenchmarkLog(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		line := bytes.Repeat([]byte("x"), size)
		open := func(b *testing.B) *os.File {
			file, err := createLog(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = file.Close() })
			b.SetBytes(int64(size))
			return file
		}
		write := func(b *testing.B, to *os.File) {
			for b.Loop() {
				if _, err := to.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(fmt.Sprintf("file/%d", size), func(b *testing.B) { write(b, open(b)) })
		b.Run(fmt.Sprintf("pipe/%d", size), func(b *testing.B) {
			c, output, err := newCapture(open(b), nil)
			if err != nil {
				b.Fatal(err)
			}
			write(b, output)
			_ = output.Close()
			c.finish()
		})
	}
}
