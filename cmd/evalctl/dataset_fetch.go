package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evalctl/harness/progress"

	"github.com/schollz/progressbar/v3"

	"evalctl/internal/download"
	"evalctl/internal/terminal"
)

// benchmark is a published benchmark that can be downloaded by name.
type benchmark struct {
	name    string
	url     string
	size    int64
	sha256  string
	licence string
	about   string
}

// The revisions of the repositories that the files are taken from, so that the content is fixed.
const (
	longMemEvalFiles = "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f/"
	locomoFiles      = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data/"
)

// benchmarks are all that fetch knows. An empty sha256 is not verified.
var benchmarks = []benchmark{
	{
		name: "longmemeval-oracle", url: longMemEvalFiles + "longmemeval_oracle.json", size: 15_388_478,
		sha256:  "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
		licence: "MIT", about: "500 questions, gold sessions",
	},
	{
		name: "longmemeval-s", url: longMemEvalFiles + "longmemeval_s_cleaned.json", size: 277_383_467,
		sha256:  "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
		licence: "MIT", about: "500 questions, ~50 sessions each",
	},
	{
		name: "longmemeval-m", url: longMemEvalFiles + "longmemeval_m_cleaned.json", size: 2_737_100_077,
		sha256:  "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f",
		licence: "MIT", about: "500 questions, ~500 sessions each",
	},
	{
		name: "locomo10", url: locomoFiles + "locomo10.json", size: 2_805_274,
		sha256:  "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
		licence: "CC BY-NC 4.0", about: "1,986 questions, 10 dialogues",
	},
}

type datasetFetchCmd struct {
	Name     string `arg:"" optional:"" name:"name" help:"Benchmark. Without a name, they are listed."`
	URL      string `name:"url" placeholder:"URL" help:"Download this file instead of a benchmark."`
	SHA256   string `name:"sha256" placeholder:"HEX" help:"SHA-256 that the file at --url must have."`
	CacheDir string `name:"cache-dir" placeholder:"DIR" help:"Folder for the file. Default: evalctl/datasets in the user's cache folder."`
	Quiet    bool   `help:"Print only errors on stderr."`
}

func (datasetFetchCmd) Help() string {
	return `Downloads a benchmark, checks its size and SHA-256, and prints the path of the file. A file that is
there is not downloaded again. An interrupted download is continued by the same command.

Examples:

  evalctl dataset fetch                        # what is there?
  evalctl dataset fetch locomo10
  evalctl dataset fetch longmemeval-s --cache-dir /data
  evalctl dataset fetch --url https://example.org/questions.json --sha256 9f86d081…
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetFetchCmd) Validate() error {
	switch {
	case c.Name != "" && c.URL != "":
		return errors.New("a name and --url exclude each other")
	case c.SHA256 != "" && c.URL == "":
		return errors.New("--sha256 is for --url; the checksums of the benchmarks are known")
	}
	return nil
}

// Run lists the benchmarks, or downloads one file.
func (c *datasetFetchCmd) Run(ctx context.Context, p *process) error {
	if c.Name == "" && c.URL == "" {
		return listBenchmarks(p)
	}
	b, err := c.benchmark()
	if err != nil {
		return usageError{err}
	}
	dir, err := c.cacheDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return usageError{fmt.Errorf("--cache-dir: %w", err)}
	}
	name, err := fileName(b.url)
	if err != nil {
		return usageError{err}
	}
	return c.fetch(ctx, p, b, filepath.Join(dir, name))
}

// benchmark returns what is to be downloaded.
func (c *datasetFetchCmd) benchmark() (benchmark, error) {
	if c.URL != "" {
		return benchmark{url: c.URL, sha256: c.SHA256}, nil
	}
	var names []string
	for _, b := range benchmarks {
		if b.name == c.Name {
			return b, nil
		}
		names = append(names, b.name)
	}
	return benchmark{}, fmt.Errorf("unknown benchmark %q: must be one of %s; use --url for other files",
		c.Name, strings.Join(names, ", "))
}

func (c *datasetFetchCmd) cacheDir() (string, error) {
	if c.CacheDir != "" {
		return c.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user has no cache folder, name one: %w", err)
	}
	return filepath.Join(dir, "evalctl", "datasets"), nil
}

// plainName matches names that are safe as the name of a file, up to maxName bytes. The length is
// not part of the expression, because compiling a repetition of 200 slows the start of the program.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 200

// fileName returns the name of the file at a URL.
func fileName(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("--url: %w", err)
	}
	if name := path.Base(u.Path); len(name) <= maxName && plainName.MatchString(name) {
		return name, nil
	}
	return "", fmt.Errorf("--url %s: its path must end in the name of a file of letters, digits, . _ and -",
		withoutSecrets(address))
}

// fetch downloads one file and prints its path.
func (c *datasetFetchCmd) fetch(ctx context.Context, p *process, b benchmark, to string) error {
	t := newTerminal(p, c.Quiet)
	show := newDownload(t, b)
	f, err := download.Get(ctx, download.Config{
		URL: b.url, Path: to, Size: b.size, SHA256: b.sha256, UserAgent: userAgent(),
		Progress: show.progress, Retrying: show.retrying,
	})
	show.done()
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return usageError{err}
	}
	state := fmt.Sprintf("%s downloaded", megabytes(f.Size))
	if f.Present {
		state = "already downloaded"
	} else if f.Resumed > 0 {
		state += fmt.Sprintf(", of them %s before", megabytes(f.Resumed))
	}
	checked := "verified"
	if b.sha256 == "" {
		checked = "not verified: give --sha256 if you know what it must be"
	}
	t.Field("file", "%s  %s", terminal.Line(f.Path), state)
	t.Field("sha256", "%s  %s", f.SHA256, checked)
	if b.licence != "" {
		t.Field("licence", "%s", b.licence)
	}
	_, err = fmt.Fprintln(p.stdout, f.Path)
	return err
}

// listBenchmarks prints what can be downloaded by name.
func listBenchmarks(p *process) error {
	rows := [][]string{{"name", "content", "licence", "size"}}
	for _, b := range benchmarks {
		rows = append(rows, []string{b.name, b.about, b.licence, megabytes(b.size)})
	}
	for line := range strings.Lines(terminal.Table(rows, 3)) {
		if _, err := fmt.Fprintln(p.stdout, strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	return nil
}

// megabytes formats a number of bytes.
func megabytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// downloadDisplay shows a download: as a bar on a terminal, otherwise as a line now and then.
type downloadDisplay struct {
	t     *terminal.Terminal
	bar   *progressbar.ProgressBar
	drawn time.Time
}

func newDownload(t *terminal.Terminal, b benchmark) *downloadDisplay {
	d := &downloadDisplay{t: t, drawn: time.Now()}
	t.Field("from", "%s", terminal.Line(withoutSecrets(b.url)))
	if t.Live() && !t.Quiet() {
		d.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(t), progressbar.OptionSetWidth(progress.BarWidth),
			progressbar.OptionShowBytes(true), progressbar.OptionShowTotalBytes(true),
			progressbar.OptionThrottle(progress.RedrawInterval), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}))
	}
	return d
}

// progress shows how much has arrived. total is -1 if it is unknown.
func (d *downloadDisplay) progress(done, total int64) {
	switch {
	case d.t.Quiet():
	case d.bar != nil:
		if d.bar.GetMax64() != total {
			d.bar.ChangeMax64(total)
		}
		_ = d.bar.Set64(done) // a drawing error must not stop the download
	case time.Since(d.drawn) >= progress.MaxLineInterval:
		d.drawn = time.Now()
		of := ""
		if total > 0 {
			of = fmt.Sprintf(" of %s (%d%%)", megabytes(total), done*100/total)
		}
		d.t.Field("download", "%s%s", megabytes(done), of)
	}
}

// retrying says why a download pauses.
func (d *downloadDisplay) retrying(err error, wait time.Duration) {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	d.t.Field("retry", "%s; next attempt in %v", terminal.Line(err.Error()), wait.Round(100*time.Millisecond))
}

func (d *downloadDisplay) done() {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
}
