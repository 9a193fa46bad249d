package project

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Patterns of the errors of kong that Plain says otherwise. The first group is the flag, and the
// text of fromVariable ends any of them.
const (
	fromVariable = `(?s)^(\S+)(: .*) \(from envar (\w+)=".*"\)$`
	noValue      = `^(.+?): (?:expected \w+ value but got "(?:EOL" \(<EOL>\)|--.*" \(long flag\).*)|missing value, expecting .*)$`
	dashed       = `(?s)^(.+?): expected \w+ value but got "(-.*)" \(short flag\); perhaps try .*$`
	noNumber     = `(?s)^(.+?): expected an? (?:float|int|valid (\d+) bit (u?)int) but got "(.*?)"(?: \(\S+\))?$`
	noBool       = `(?s)^(.+?): (?:bool value must be .*|expected bool) but got "(.*?)"(?: \(\S+\))?$`
	notOneOf     = `(?s)^(.* must be one of )("[^ ]*")( but got .*)$`
	allDigits    = `^[-+]?\d+$`
)

// Plain returns an error of kong about the value of a flag in the words of the other messages.
// It returns any other error unchanged.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	m := match(fromVariable, err.Error())
	if m == nil {
		if plain := plainText(err.Error()); plain != "" {
			return errors.New(plain)
		}
		return err
	}
	flag, what, variable := m[1], m[2], m[3]
	value, what, _ := strings.Cut(strings.TrimPrefix(cmp.Or(plainText(flag+what), flag+what), flag), ": ")
	return fmt.Errorf("%s%s in $%s: %s", flag, value, variable, what)
}

// match compiles the pattern, because few processes need one.
func match(pattern, text string) []string {
	return regexp.MustCompile(pattern).FindStringSubmatch(text)
}

// plainText returns a text of kong in plain words, empty if it has none.
func plainText(text string) string {
	if m := match(noValue, text); m != nil {
		return m[1] + " has no value"
	}
	if m := match(dashed, text); m != nil {
		return fmt.Sprintf("%s %s: write %[1]s=%[2]s for a value that begins with -", m[1], m[2])
	}
	if m := match(noNumber, text); m != nil {
		return fmt.Sprintf("%s %s: must be a %s", m[1], m[4], numberKind(m[2], m[3] != "", m[4]))
	}
	if m := match(noBool, text); m != nil {
		return fmt.Sprintf("%s %s: must be true or false", m[1], m[2])
	}
	if m := match(notOneOf, text); m != nil {
		values := slices.DeleteFunc(strings.Split(strings.ReplaceAll(m[2], `"`, ""), ","), func(v string) bool { return v == "" })
		return m[1] + strings.Join(values, ", ") + m[3]
	}
	return ""
}

// numberKind says which numbers a flag takes. bits is empty if they need not be whole. If value
// is a whole number, it is outside the range, which is then named.
func numberKind(bits string, unsigned bool, value string) string {
	if bits == "" {
		return "number"
	}
	n, err := strconv.Atoi(bits)
	switch {
	case err != nil || n < 1 || n > 64 || match(allDigits, value) == nil:
		return "whole number"
	case unsigned:
		return fmt.Sprintf("whole number from 0 to %d", uint64(math.MaxUint64)>>(64-n))
	}
	return fmt.Sprintf("whole number from %d to %d", math.MinInt64>>(64-n), math.MaxInt64>>(64-n))
}
