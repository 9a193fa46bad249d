package jsonstream_test

import (
	"fmt"
	"strings"

	"evalctl/internal/jsonstream"
)

func Example() {
	r := jsonstream.New(strings.NewReader(`{"note": {"a": 1}, "sizes": [3, "4"]}`), 0)
	total := 0
	err := r.Members(func(key string) error {
		if key != "sizes" {
			return r.Skip()
		}
		return r.Elements(func() error {
			at := r.Offset()
			value, err := r.Value()
			if err != nil {
				return err
			}
			var size int
			if err := jsonstream.Decode(value, at, &size); err != nil {
				return err
			}
			total += size
			return nil
		})
	})
	fmt.Println(total, err)
	// Output: 3 byte 35: it must not be a string
}
