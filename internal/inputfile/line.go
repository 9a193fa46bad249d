package inputfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
)

const (
	// maxLine is the longest line of Line that is read.
	maxLine = 1 << 30
	// maxOther is how much is read of a line that is not an object, such as zeros after a power
	// failure.
	maxOther = 32 << 20
)

// Line reads a line with its end, as bufio.Reader.ReadBytes does, for lines that are JSON objects.
// It returns only the beginning of any other longer line. A line of more than 1 GiB is ErrTooLarge.
func Line(r *bufio.Reader) ([]byte, error) {
	var line bytes.Buffer
	for {
		part, err := r.ReadSlice('\n')
		line.Write(part)
		switch {
		case line.Len() > maxLine:
			return nil, fmt.Errorf("a line %w: more than %d bytes", ErrTooLarge, maxLine)
		case line.Len() > maxOther && line.Bytes()[0] != '{':
			return line.Bytes(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line.Bytes(), err
		}
	}
}
