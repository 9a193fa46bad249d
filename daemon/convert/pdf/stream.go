package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/filter"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"evalctl/daemon/convert/budget"
)

// maxFilters bounds the filters of a stream. Files have two at most.
const maxFilters = 8

var errFilters = errors.New("the stream has too many filters")

// decodeStream returns the decoded content of a stream, which the meter holds. Filters that only
// compress are read through each other, so that nothing between them is kept.
func decodeStream(m *budget.Meter, s *types.StreamDict) ([]byte, error) {
	switch {
	case s.Content != nil || s.FilterPipeline == nil:
		data := s.Content
		if data == nil {
			data = s.Raw
		}
		return data, m.Hold(int64(len(data)))
	case len(s.FilterPipeline) > maxFilters:
		return nil, errFilters
	case !onlyDeflate(s.FilterPipeline):
		return decodeOther(m, s)
	}
	var r io.Reader = bytes.NewReader(s.Raw)
	for range s.FilterPipeline {
		inflated, err := zlib.NewReader(m.Reader(r))
		if err != nil {
			return nil, err
		}
		r = inflated
	}
	data, err := m.ReadAll(r)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // some programs leave out the end
	}
	return data, err
}

func onlyDeflate(filters []types.PDFFilter) bool {
	for _, f := range filters {
		if f.Name != filter.Flate || f.DecodeParms["Predictor"] != nil {
			return false
		}
	}
	return true
}

// decodeOther decodes one filter after the other. The output of each may be kept, and grows to
// twice its size.
func decodeOther(m *budget.Meter, s *types.StreamDict) ([]byte, error) {
	limit := m.Memory() / 6
	err := s.DecodeWithLimit(limit)
	if errors.Is(err, filter.ErrDecodeLimitExceeded) {
		return nil, m.Hold(m.Memory() + 1)
	}
	if err != nil {
		return nil, err
	}
	if err := m.Step(len(s.FilterPipeline) * len(s.Content)); err != nil {
		return nil, err
	}
	return s.Content, m.Hold(int64(len(s.Content)))
}
