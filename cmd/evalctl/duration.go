package main

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// readDuration reads the value of a flag that is a time. A number without a unit is an error that
// proposes seconds.
func readDuration(ctx *kong.DecodeContext, into reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return fmt.Errorf("%s has no unit: did you mean %[1]ss?", text)
		}
		return fmt.Errorf("%q is not a time: write a number and a unit, such as 500ms, 30s, 5m or 2h", text)
	}
	into.SetInt(int64(d))
	return nil
}
