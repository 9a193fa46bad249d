package imports

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// zipZstandard is the number of Zstandard among the zip compression methods (APPNOTE 4.4.5).
// inspect_ai uses it for its logs.
const zipZstandard = 93

// zstandard decompresses a file in a log.
func zstandard(r io.Reader) io.ReadCloser {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFile))
	if err != nil {
		return io.NopCloser(errorReader{err})
	}
	return d.IOReadCloser()
}

// errorReader always fails with err.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// readInspect reads an .eval log of inspect_ai: a zip file with a header and one JSON file per
// sample. It returns the parts of the log that imports need as JSON.
func readInspect(data []byte) (any, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	z.RegisterDecompressor(zipZstandard, zstandard)
	log := map[string]any{"status": "started"} // until the header, which is written last
	var samples []any
	left := int64(maxFile)
	slices.SortFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range z.File {
		isSample := strings.HasPrefix(f.Name, "samples/") && strings.HasSuffix(f.Name, ".json")
		if !isSample && f.Name != "header.json" {
			continue
		}
		value, size, err := member(f, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= size
		if isSample {
			samples = append(samples, value)
		} else if object, ok := value.(map[string]any); ok {
			log = object
		}
	}
	if len(samples) == 0 {
		return nil, errors.New("the zip file has no samples/*.json, so it is not a log of inspect_ai")
	}
	log["samples"] = samples
	return log, nil
}

// member decodes a JSON file in a zip file and returns its size, at most most.
func member(f *zip.File, most int64) (value any, size int64, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, 0, err
	}
	if int64(len(data)) > most {
		return nil, 0, fmt.Errorf("the log has more than %d MiB", maxFile>>20)
	}
	value, err = decodeJSON(data)
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0] // a sample without lists looks like a line
	}
	return value, int64(len(data)), err
}
