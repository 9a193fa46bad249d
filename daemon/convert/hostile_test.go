package convert_test

import (
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/convert"
	"evalctl/daemon/convert/converttest"
)

// peak runs f and returns by how much the heap has grown meanwhile, at its highest, in bytes. That
// includes garbage, which is up to as much as what is in use.
func peak(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	runtime.GC()
	before, highest := read(), uint64(0)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				highest = max(highest, read())
			}
		}
	})
	f()
	close(stop)
	watching.Wait()
	return max(highest, before) - before
}

// hostile returns the files that were made to exhaust memory or time, which take a second to make.
var hostile = sync.OnceValue(converttest.Hostile)

// A hostile file ends with a bounded result or an error, and takes bounded memory.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, which the race detector multiplies")
	}
	for _, f := range hostile() {
		t.Run(f.Name, func(t *testing.T) {
			var err error
			var doc convert.Document
			grown := peak(func() { doc, err = convert.Convert(t.Context(), f.Kind, f.Name, f.Data) })
			t.Logf("%d bytes: %d MiB, %d KiB of text, error %.150v", len(f.Data), grown>>20, len(doc.Markdown)>>10, err)
			if err != nil && !errors.Is(err, convert.ErrInvalid) {
				t.Error(err)
			}
			if grown > 192<<20 {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
		})
	}
}

// Two dozen hostile files at once, of two tenants, take little more memory than one.
func TestHostileAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, which the race detector multiplies")
	}
	files := []converttest.File{converttest.Bomb()}
	for _, f := range hostile() {
		switch f.Name {
		case "repeated array.pdf", "glyphs.pdf", "objects.pdf", "character map.pdf", "table.html":
			files = append(files, f)
		}
	}
	if len(files) != 6 {
		t.Fatalf("%d of the files are known", len(files))
	}
	grown := peak(func() {
		var all sync.WaitGroup
		for i := range 24 {
			ctx := convert.For(t.Context(), []string{"a", "b"}[i%2], true)
			all.Go(func() {
				f := files[i%len(files)]
				if _, err := convert.Convert(ctx, f.Kind, f.Name, f.Data); !errors.Is(err, convert.ErrInvalid) {
					t.Errorf("%s: %v", f.Name, err)
				}
			})
		}
		all.Wait()
	})
	t.Logf("the heap has grown by %d MiB", grown>>20)
	if grown > 448<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}
