package launch

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/printable"
)

const (
	tailLines = 20
	tailBytes = 32 << 10 // the last lines are searched in this part of the log
	maxRunes  = 400      // of one line, or of a health response, in an error

	announcement = "evalctl: listening on "
)

// createLog creates an empty log file that other users cannot read.
func createLog(path string) (*os.File, error) {
	if path == "" {
		return nil, errors.New("no log path given")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the log's folder: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := log.Chmod(0o600); err != nil {
		log.Close()
		return nil, fmt.Errorf("make the log private: %w", err)
	}
	return log, nil
}

// announced returns the first announced URL, or "".
func (c *capture) announced() string {
	text, _ := c.beginning()              // the next poll tries again
	for line := range bytes.Lines(text) { // the last one may be incomplete
		if base := announcedURL(string(line)); base != "" && bytes.HasSuffix(line, []byte("\n")) {
			return base
		}
	}
	return ""
}

// announcedURL returns the base URL in "evalctl: listening on http://HOST:PORT", or "".
func announcedURL(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), announcement)
	if !ok {
		return ""
	}
	u, err := url.Parse(rest)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || rest != "http://"+u.Host {
		return ""
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
		return ""
	}
	return rest
}

// lastLines returns the end of the log and its path for an error message.
func (c *capture) lastLines() string {
	data, err := c.ending()
	if err != nil {
		return fmt.Sprintf("the log cannot be read: %v", err)
	}
	note := ""
	if err := c.problem(); err != nil {
		note = "\n" + err.Error()
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return "it wrote nothing to its log " + c.file.Name() + note
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = "  " + escaped(strings.TrimSuffix(line, "\r"))
	}
	return "last lines of its log " + c.file.Name() + ":\n" + strings.Join(lines, "\n") + note
}

// inUse are the messages, in lower case, with which programs in most languages and Node report an
// address in use.
var inUse = []string{"address already in use", "eaddrinuse"}

// saysInUse reports whether the end of the log says that the daemon's address is in use.
func (c *capture) saysInUse() bool {
	data, _ := c.ending() // an error shows in lastLines
	text := strings.ToLower(string(data))
	return slices.ContainsFunc(inUse, func(says string) bool { return strings.Contains(text, says) })
}

// escaped escapes control characters, which could control the terminal, and shortens long text.
func escaped(s string) string {
	var out strings.Builder
	s = printable.Short(s, maxRunes)
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case r == '\t' || unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}
