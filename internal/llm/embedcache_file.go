package llm

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"os"
)

// vectorFiles keeps each vector in a file of its own: a hash of the key and the values, then the
// float32 values, little-endian.
type vectorFiles struct {
	files replyFiles
	log   *slog.Logger
}

func openVectorFiles(dir string, maxBytes int64, log *slog.Logger) (*vectorFiles, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &vectorFiles{files: replyFiles{dir: dir, limit: maxBytes}, log: log}, nil
}

// get also leaves nil for a damaged vector. It is then computed again and stored.
func (f *vectorFiles) get(keys []CacheKey) ([][]float32, error) {
	out := make([][]float32, len(keys))
	for i, key := range keys {
		data, err := f.files.read(key)
		if errors.Is(err, errDamaged) {
			f.log.Warn("a cached vector is damaged and is computed again", "cause", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i] = decodeVector(data)
	}
	return out, nil
}

func (f *vectorFiles) put(keys []CacheKey, vectors [][]float32) error {
	for i, key := range keys {
		if err := f.files.write(key, encodeVector(vectors[i])); err != nil {
			return err
		}
	}
	return nil
}

func encodeVector(v []float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// decodeVector returns nil for data that is not a vector.
func decodeVector(data []byte) []float32 {
	if len(data) == 0 || len(data)%4 != 0 {
		return nil
	}
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}
