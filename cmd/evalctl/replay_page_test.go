package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
)

// TestReplayPage runs the session in docs/replay.md. The questions that did not pass are left out,
// because they are printed in the order in which they ended, and so are the measures of retrieval,
// which the table of types has too.
func TestReplayPage(t *testing.T) {
	testSession(t, "../../docs/replay.md", working, failing, regexp.MustCompile(
		`^ +(evidence|returned|retrieval|all@10|nDCG@10|brackets|over |3 with no gold|n=|passed  |ingest +bulk)`))
}

// TestTutorial runs the session in docs/tutorial.md. Lengths of texts, figures by tag, of passages and
// of latency are left out, and of comparisons the methods.
func TestTutorial(t *testing.T) {
	testSession(t, "../../docs/tutorial.md", working, compared, regexp.MustCompile(
		`^ +(tag +n |(knowledge-update|single-fact) +\d+ +(\d+ +)?\d\.\d{3}|min  +median|(question|reference answer|document), char|gold documents|grounded|returned|depth|latency  |done  |n=|passed  |methods|tests|by tag|note  |differs +depth)`))
}

// TestAuditPage runs the session in docs/audit.md, of which the figures by tag and what is the same in
// every run are left out.
func TestAuditPage(t *testing.T) {
	testSession(t, "../../docs/audit.md", working, failing, regexp.MustCompile(
		`^( +(tag|conv:|type:|by tag|note  |mean of|score |methods|tests|disagree|power|unknown|read  |ran|cost|lost at|floor|passed  |latency|n=|answers  |recipe +[a-z]+ [0-9a-f]{8}|pass rate  |file|left out|differs|… and|evalctl compare --question)|not checked)`))
}

// TestAccusationsPage runs the session in docs/accusations.md, of which what is the same in every run
// is left out, and times.
func TestAccusationsPage(t *testing.T) {
	testSession(t, "../../docs/accusations.md", working, failing, regexp.MustCompile(
		`^( +(tag|conv:|type:|by tag|note  |mean of|score |methods|power|unknown|ran|cost|lost at|floor|latency|left out|recipe +[a-z]+ [0-9a-f]{8}|go  +[0-9]|pass rate  |file  +[/a-z])|not checked|\{"findings")`))
}

// TestAnyMemoryPage runs the session in docs/any-memory.md, whose servers npx downloads unless npm's
// cache has them. The calls and replies of target map, latencies, the figures by tag and the methods
// of the comparison are left out.
func TestAnyMemoryPage(t *testing.T) {
	for _, program := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not there, with which the servers of the page are started", program)
		}
	}
	testSessionIn(t, "../../docs/any-memory.md", func(s *session) {
		cache, err := exec.CommandContext(t.Context(), "npm", "config", "get", "cache").Output()
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSpace(string(cache))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dir, filepath.Join(s.dir, ".npm")); err != nil {
			t.Fatal(err)
		}
	}, working, compared, regexp.MustCompile(
		`^ +(call |reply |depth |latency  +done|n=|ran |tag |knowledge-update|multi-document|preference|single-fact|temporal|topic:|by tag|methods|tests|power|note +(\d|latencies))|`+
			`^(remember|search|search elsewhere|get|delete)\s*$`))
}

// testSession runs the session of a page and compares what is shown with what is printed, except
// for times, ports, dates and builds, and for lines that match one of hidden. With -update, it
// rewrites what is shown.
func testSession(t *testing.T, file string, hidden ...*regexp.Regexp) {
	t.Helper()
	testSessionIn(t, file, func(*session) {}, hidden...)
}

// testSessionIn is testSession in a folder that prepare adds to.
func testSessionIn(t *testing.T, file string, prepare func(*session), hidden ...*regexp.Regexp) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs every command of the page")
	}
	data := filetest.Read(t, file)
	s := newSession(t)
	prepare(s)
	s.hidden = hidden
	var page strings.Builder
	blocks := strings.Split(string(data), "```console\n")
	page.WriteString(blocks[0])
	for _, block := range blocks[1:] {
		session, rest, ok := strings.Cut(block, "```\n")
		if !ok {
			t.Fatal("a code block has no end")
		}
		page.WriteString("```console\n")
		for _, shown := range s.commands(session) {
			printed := s.run(shown.command)
			if got, want := volatile(printed), volatile(shown.output); got != want && !goldentest.Updating() {
				t.Errorf("$ %s\nis shown as\n%s\nand prints\n%s", shown.command, want, got)
			}
			page.WriteString("$ " + shown.command + "\n" + printed)
		}
		page.WriteString("```\n" + rest)
	}
	if goldentest.Updating() {
		filetest.Write(t, file, page.String())
	}
}

// session runs the commands of a page in one folder, which has the datasets of the repository.
type session struct {
	t      *testing.T
	dir    string
	hidden []*regexp.Regexp // lines of output
}

func newSession(t *testing.T) *session {
	s := &session{t: t, dir: t.TempDir()}
	datasets, err := filepath.Abs("../../datasets")
	if err == nil {
		err = os.Symlink(datasets, filepath.Join(s.dir, "datasets"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown is a command with the output that the page has for it.
type shown struct{ command, output string }

// commands returns the commands of a code block. A command goes on after a backslash.
func (s *session) commands(block string) (out []shown) {
	continued := false
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok:
			out = append(out, shown{command: strings.TrimSuffix(command, "\n")})
		case len(out) == 0:
			s.t.Fatalf("output without a command: %s", line)
		case continued:
			out[len(out)-1].command += "\n" + strings.TrimSuffix(line, "\n")
		default:
			out[len(out)-1].output += line
		}
		continued = (ok || continued) && strings.HasSuffix(line, "\\\n")
	}
	return out
}

// run returns what a command prints, without the hidden lines.
func (s *session) run(command string) string {
	s.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &out
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "SVC_CACHE_DIR="+s.dir, "OPENAI_API_KEY=", "SVC_LLM_PROVIDER=", "SVC_LLM_MODEL=")
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("$ %s\n%v\n%s", command, err, &out)
	}
	var lines strings.Builder
	for line := range strings.Lines(out.String()) {
		if !slices.ContainsFunc(s.hidden, func(re *regexp.Regexp) bool { return re.MatchString(line) }) {
			lines.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	printed := strings.Trim(blankLines.ReplaceAllString(lines.String(), "\n\n"), "\n")
	if printed != "" {
		printed += "\n"
	}
	return printed
}

var (
	working    = regexp.MustCompile(`^  (ingest|ask|answer|judge|replay) +\d+/\d+`)
	compared   = regexp.MustCompile(`^  latency     .* vs `)
	failing    = regexp.MustCompile(`^  (FAIL|ERR |UNSCORED|… and \d+ more)`)
	blankLines = regexp.MustCompile(`\n{3,}`)
	// changing are the parts of lines that differ from run to run.
	changing = regexp.MustCompile(`pid \d+|\d{4}-\d\d-\d\d( \d\d:\d\d)?/?|\d{8}T\d{6}Z-[0-9a-f]{6}|127\.0\.0\.1:\d+|\d+(\.\d+)? (ms|s|min)\b( \[[\d.]+( m?s)? [\d.]+( m?s)?\])?|\d+\.\d+\.\d+\S* \(commit [^)]*\)|zq[a-z2-7]{10}| +`)
)

// volatile returns text without the parts that differ from run to run, and without differences of
// space.
func volatile(text string) string { return changing.ReplaceAllString(text, " ") }
