package progress

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"evalctl/internal/download"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Download shows a download: as a bar on a terminal, otherwise as occasional lines.
type Download struct {
	t     *terminal.Terminal
	bar   *progressbar.ProgressBar
	drawn time.Time
}

// NewDownload starts the display of a download from url.
func NewDownload(t *terminal.Terminal, url string) *Download {
	d := &Download{t: t, drawn: time.Now()}
	t.Field("from", "%s", terminal.Line(url))
	if t.Live() && !t.Quiet() {
		d.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(t), progressbar.OptionSetWidth(barWidth),
			progressbar.OptionShowBytes(true), progressbar.OptionShowTotalBytes(true),
			progressbar.OptionThrottle(redrawInterval), progressbar.OptionClearOnFinish(), theme)
	}
	return d
}

// Arrived shows the number of bytes received. total is -1 if unknown.
func (d *Download) Arrived(done, total int64) {
	switch {
	case d.t.Quiet():
	case d.bar != nil:
		if d.bar.GetMax64() != total {
			d.bar.ChangeMax64(total)
		}
		_ = d.bar.Set64(done) // a drawing error must not stop the download
	case time.Since(d.drawn) >= maxLineInterval:
		d.drawn = time.Now()
		of := ""
		if total > 0 {
			of = fmt.Sprintf(" of %s (%d%%)", figure.Bytes(total), done*100/total)
		}
		d.t.Field("download", "%s%s", figure.Bytes(done), of)
	}
}

// Retrying shows why a download pauses.
func (d *Download) Retrying(err error, wait time.Duration) {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	d.t.Field("retry", "%s; next attempt in %v", terminal.Line(err.Error()), wait.Round(100*time.Millisecond))
}

// Done removes the bar.
func (d *Download) Done() {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
}

// Downloaded prints a finished download. verified is set if its SHA-256 was known. licence may be
// empty.
func Downloaded(t *terminal.Terminal, f download.File, verified bool, licence string) {
	state := fmt.Sprintf("%s downloaded", figure.Bytes(f.Size))
	if f.Present {
		state = "already downloaded"
	} else if f.Resumed > 0 {
		state += fmt.Sprintf(", of them %s before", figure.Bytes(f.Resumed))
	}
	checked := "verified"
	if !verified {
		checked = "not verified: give --sha256 if you know what it must be"
	}
	t.Field("file", "%s  %s", terminal.Line(f.Path), state)
	t.Field("sha256", "%s  %s", f.SHA256, checked)
	if licence != "" {
		t.Field("licence", "%s", licence)
	}
}
