package convert

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"
)

// converters are other converters whose packages have test files.
var converters = []struct {
	folder, input string
	kind          Kind
	page          bool // only the main text of a page is expected
	expected      func(t *testing.T, input string) (text string, ok bool)
}{
	{"html2text/test", ".html", HTML, false, otherEnding(".html", ".md")},
	{"inscriptis/tests/html", ".html", HTML, false, otherEnding(".html", ".txt")},
	{"html-to-markdown", ".in.html", HTML, false, otherEnding(".in.html", ".out.md")},
	{"go-readability/test-pages", "source.html", HTML, true, otherEnding("source.html", "expected.html")},
	{"pypdf/resources", "crazyones.pdf", PDF, false, otherEnding(".pdf", ".txt")},
	{"pypdf/resources", ".pdf", PDF, false, pdftotext},
	{"playa-pdf", ".pdf", PDF, false, pdftotext},
	{"pypdfium2/tests", ".pdf", PDF, false, pdftotext},
	{"pdfreader/doc", ".pdf", PDF, false, pdftotext},
	{"tabula-py/tests", ".pdf", PDF, false, pdftotext},
	{"pikepdf/tests", ".pdf", PDF, false, pdftotext},
	{"ocrmypdf/tests", ".pdf", PDF, false, pdftotext},
	{"pdfcpu/pkg/testdata", ".pdf", PDF, false, pdftotext},
	{"ledongthuc-pdf", ".pdf", PDF, false, pdftotext},
	{"dslipak-pdf", ".pdf", PDF, false, pdftotext},
}

// otherEnding reads what is expected from a file beside the input.
func otherEnding(ending, other string) func(*testing.T, string) (string, bool) {
	return func(_ *testing.T, input string) (string, bool) {
		data, err := os.ReadFile(strings.TrimSuffix(input, ending) + other)
		if strings.HasSuffix(other, ".html") {
			return textOfHTML(string(data)), err == nil
		}
		return string(data), err == nil
	}
}

// pdftotext reads what a viewer shows of a PDF. It is not ok if Poppler cannot open the file.
func pdftotext(t *testing.T, input string) (string, bool) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "pdftotext", "-enc", "UTF-8", input, "-").Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: install poppler-utils", err)
	}
	return string(text), err == nil
}

// TestWordsOfConverters reports the share of the expected words that conversion keeps, each as often.
// scripts/converters/compare.sh fetches the files. Those without an expected word are left out.
func TestWordsOfConverters(t *testing.T) {
	root := os.Getenv("CONVERTERS")
	if root == "" {
		t.Skip("CONVERTERS names no folder: run scripts/converters/compare.sh")
	}
	for _, c := range converters {
		t.Run(c.folder, func(t *testing.T) {
			files, kept, all := 0, 0, 0
			name, rest, _ := strings.Cut(c.folder, "/")
			folder, err := filepath.EvalSymlinks(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			err = filepath.WalkDir(filepath.Join(folder, rest), func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, c.input) {
					return err
				}
				expected, ok := c.expected(t, path)
				if !ok || len(plainWords(expected)) == 0 {
					return nil
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				got, lost := compareWords(t, c.kind, c.page, path, data, expected)
				files, kept, all = files+1, kept+got, all+got+len(lost)
				if len(lost) > 0 {
					t.Logf("%s: %d of %d, without %.20q", strings.TrimPrefix(path, folder),
						got, got+len(lost), lost[:min(12, len(lost))])
				}
				return nil
			})
			if err != nil || all == 0 {
				t.Fatalf("%d files with %d words: %v", files, all, err)
			}
			t.Logf("%d files: %d of %d words are kept, %.1f %%", files, kept, all, 100*float64(kept)/float64(all))
		})
	}
}

// compareWords returns the number of expected words that a conversion has, and those that it lacks.
func compareWords(
	t *testing.T, kind Kind, page bool, name string, data []byte, expected string,
) (kept int, lost []string) {
	t.Helper()
	convert := func() (Document, error) { return Convert(t.Context(), kind, name, data) }
	if page {
		convert = func() (Document, error) { return Page(t.Context(), nil, data) }
	}
	doc, err := convert()
	if err != nil && !errors.Is(err, errNoText) {
		t.Log(err)
	}
	have := map[string]int{}
	for _, w := range plainWords(doc.Title + "\n" + doc.Markdown) {
		have[w]++
	}
	for _, w := range plainWords(expected) {
		if have[w] == 0 {
			lost = append(lost, w)
			continue
		}
		have[w]--
		kept++
	}
	return kept, lost
}

var (
	notText = regexp.MustCompile(`\]\([^)]*\)|\]: ?\S+|\bhttps?://\S+|(?s:<!--.*?-->)|</?[a-zA-Z][^>]*>|&[a-z]+;`)
	// eastAsian characters are words of their own: where a word ends is not written.
	eastAsian = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]`)
	aWord     = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// plainWords returns the words of a text or of Markdown in lower case, without addresses.
func plainWords(text string) []string {
	text = notText.ReplaceAllString(strings.ReplaceAll(norm.NFKC.String(text), `\`, ""), " ")
	text = strings.ReplaceAll(text, "\u00ad", "")
	text = eastAsian.ReplaceAllString(text, " $0 ")
	return aWord.FindAllString(strings.ToLower(text), -1)
}

func textOfHTML(text string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())))
		default:
			b.WriteByte(' ')
		}
	}
}
