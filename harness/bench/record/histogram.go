package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is the longest time that a histogram distinguishes. Longer times count as Longest.
const Longest = time.Hour

// Histogram counts times in nanoseconds, or sizes, with three significant digits (HdrHistogram, see
// hdrhistogram.org). Its JSON form is compressed V2 in base64, which other implementations can read
// and merge. It is not safe for concurrent use. A nil Histogram has no values.
type Histogram struct{ h *hdrhistogram.Histogram }

// NewHistogram returns a histogram without values.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(1, int64(Longest), 3)}
}

// Add counts a value. Negative values count as 0.
func (h *Histogram) Add(v int64) {
	_ = h.h.RecordValue(min(max(v, 0), int64(Longest))) // which is in the range
}

// N returns the number of values.
func (h *Histogram) N() int64 {
	if h == nil {
		return 0
	}
	return h.h.TotalCount()
}

// merge returns a histogram with the values of all hs.
func merge(hs ...*Histogram) *Histogram {
	var sum *Histogram
	for _, h := range hs {
		if h.N() == 0 {
			continue
		}
		if sum == nil {
			sum = NewHistogram()
		}
		sum.h.Merge(h.h)
	}
	return sum
}

// Quantile returns the quantile p, from 0 to 1, in the unit of the values. It is 0 without values.
func (h *Histogram) Quantile(p float64) int64 {
	if h == nil {
		return 0
	}
	return h.h.ValueAtPercentile(100 * p)
}

// sum returns the sum of all values in milliseconds.
func (h *Histogram) sum() float64 {
	if h == nil {
		return 0
	}
	return h.h.Mean() / 1e6 * float64(h.N())
}

// rankOf returns the rank of quantile p among n values, rounded as by the library.
func rankOf(p float64, n int64) int64 { return int64(p*float64(n) + 0.5) }

// among returns the quantile p of all requests, where those without a value are slower than any
// other. It is never if it falls on one without a value.
func (h *Histogram) among(p float64, all int64) int64 {
	n := h.N()
	if n == 0 || rankOf(p, all) > n {
		return never
	}
	return h.Quantile(p * float64(all) / float64(n))
}

// MarshalJSON implements json.Marshaler.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	data, err := h.h.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encode a histogram: %w", err)
	}
	return json.Marshal(string(data))
}

// maxEncoded limits the encoded size of a histogram. A histogram with a count in every bucket is
// smaller.
const maxEncoded = 1 << 20

// UnmarshalJSON implements json.Unmarshaler.
func (h *Histogram) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if len(text) > maxEncoded {
		return errors.New("decode a histogram: the data is too long")
	}
	// The library checks a length and a checksum, but not every count.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode a histogram: the data is damaged: %v", p)
		}
	}()
	if h.h, err = hdrhistogram.Decode([]byte(text)); err != nil {
		return fmt.Errorf("decode a histogram: %w", err)
	}
	if h.h.SignificantFigures() != 3 {
		return fmt.Errorf("decode a histogram: the data has %d significant digits, and 3 are expected", h.h.SignificantFigures())
	}
	return nil
}

// Median returns the median latency in nanoseconds over all operations of a block, NaN without any.
func Median(b Block) float64 {
	o, ok := b.op(All)
	if !ok || o.Latency.N() == 0 {
		return math.NaN()
	}
	return float64(o.Latency.Quantile(0.5))
}

// Slowest returns the longest latency of a block's successful requests, 0 without any.
func Slowest(b Block) time.Duration {
	o, _ := b.op(All)
	return time.Duration(o.Latency.Quantile(1))
}

// Offered returns how many requests of a block should have begun, including the discarded ones.
func Offered(b Block) int64 {
	n := b.LeftOut
	for _, o := range b.Ops {
		n += o.Offered
	}
	return n
}
