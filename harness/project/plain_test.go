package project_test

import (
	"errors"
	"testing"

	"evalctl/harness/project"
)

// The errors of kong about values are said in plain words, with the range of numbers that are
// too large and the name of a variable, but not its value twice.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`--a: expected a valid 8 bit int but got "200"`:                                   `--a 200: must be a whole number from -128 to 127`,
		`--a: expected a valid 16 bit uint but got "-1"`:                                  `--a -1: must be a whole number from 0 to 65535`,
		`--a: expected a valid 64 bit int but got "1.5"`:                                  `--a 1.5: must be a whole number`,
		`--a: expected a float but got "x" (string)`:                                      `--a x: must be a number`,
		`a: expected a float but got "x" (string)`:                                        `a x: must be a number`,
		`--a: expected a float but got "x" (string) (from envar A_B="x")`:                 `--a x in $A_B: must be a number`,
		`--a: 5 has no unit: did you mean 5s? (from envar A_B="5")`:                       `--a in $A_B: 5 has no unit: did you mean 5s?`,
		`--a: bool value must be true, 1, yes, false, 0 or no but got "so"`:               `--a so: must be true or false`,
		`--a: expected string value but got "EOL" (<EOL>)`:                                `--a has no value`,
		`--a: missing value, expecting "<arg>,..."`:                                       `--a has no value`,
		`--a: expected string value but got "--b" (long flag); perhaps try --a="--b"?`:    `--a has no value`,
		`--a: expected duration value but got "-5s" (short flag); perhaps try --a="-5s"?`: `--a -5s: write --a=-5s for a value that begins with -`,
		`--a must be one of "","b","c" but got "d"`:                                       `--a must be one of b, c but got "d"`,
		`--a: must be from 1 to 9`:                                                        `--a: must be from 1 to 9`,
	} {
		if got := project.Plain(errors.New(text)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
	if err := project.Plain(nil); err != nil {
		t.Error(err)
	}
}
