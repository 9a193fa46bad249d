package distill

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/jsonobj"
	"evalctl/internal/llm"
)

// parseObject parses a reply that is one JSON object, possibly in a code fence or after thoughts.
// Its errors are also for the model.
func parseObject(reply string) (jsonobj.Object, error) {
	text := strings.TrimSpace(reply)
	switch {
	case len(text) > maxReply:
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(text), maxReply)
	case text == "":
		return nil, errors.New("it is empty")
	}
	o, err := jsonobj.Parse([]byte(llm.Unfenced(text)))
	if said, thought := llm.WithoutThoughts(text); err != nil && thought == nil {
		o, err = jsonobj.Parse([]byte(llm.Unfenced(said)))
	}
	if err != nil {
		return nil, errors.New("it is not one JSON object alone")
	}
	return o, checkKeys(o, "")
}

// checkKeys rejects repeated keys. where is the name of the object, empty for the reply itself.
func checkKeys(o jsonobj.Object, where string) error {
	seen := map[string]bool{}
	for _, m := range o {
		if seen[string(m.Key)] {
			return fmt.Errorf("the key %s%.40q is there twice", where, m.Key)
		}
		seen[string(m.Key)] = true
	}
	return nil
}

// parseList parses the objects of the list that a reply has as key. parse gets the prefix of an
// object's keys in errors.
func parseList[T any](reply, key string, most int, parse func(o jsonobj.Object, prefix string) (T, error)) ([]T, error) {
	o, err := parseObject(reply)
	if err != nil {
		return nil, err
	}
	list, err := objects(o, key, most)
	if err != nil {
		return nil, err
	}
	parsed := make([]T, len(list))
	for i, entry := range list {
		if parsed[i], err = parse(entry, where(key, i)+"."); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// objects returns the objects of a list, which is required.
func objects(o jsonobj.Object, key string, most int) ([]jsonobj.Object, error) {
	value := o.Get(key)
	if value == nil {
		return nil, fmt.Errorf("the key %q is missing", key)
	}
	if value[0] != '[' {
		return nil, fmt.Errorf("%s is not a list", key)
	}
	n := 0
	for range jsonobj.Elements(value) {
		n++
	}
	if n > most {
		return nil, fmt.Errorf("%s has %d entries, the limit is %d", key, n, most)
	}
	list, err := jsonobj.Objects(value, most)
	if err != nil {
		return nil, fmt.Errorf("%s is %w", key, err)
	}
	for i, entry := range list {
		if err := checkKeys(entry, where(key, i)+"."); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func where(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// text returns a string of at most most code points, cleaned up. null and a missing key are the
// empty string.
func text(o jsonobj.Object, prefix, key string, most int, clean func(string) string) (string, error) {
	value := o.Get(key)
	if value == nil || string(value) == "null" {
		return "", nil
	}
	s, ok := jsonobj.String(value)
	if !ok {
		return "", fmt.Errorf("%s%s is not a string", prefix, key)
	}
	s = clean(s)
	if n := utf8.RuneCountInString(s); n > most {
		return "", fmt.Errorf("%s%s has %d characters, the limit is %d", prefix, key, n, most)
	}
	return s, nil
}

// required is text of at least one character.
func required(o jsonobj.Object, prefix, key string, most int, clean func(string) string) (string, error) {
	s, err := text(o, prefix, key, most, clean)
	if err == nil && s == "" {
		err = fmt.Errorf("%s%s is missing or empty", prefix, key)
	}
	return s, err
}

// flag returns a boolean, which is required.
func flag(o jsonobj.Object, key string) (bool, error) {
	switch string(o.Get(key)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is not true or false", key)
}

// index returns a whole number.
func index(value json.RawMessage, name string) (int, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", name)
	}
	return n, nil
}

// day returns a date of the form YYYY-MM-DD. null, a missing key and the empty string are the zero
// time.
func day(o jsonobj.Object, prefix, key string) (time.Time, error) {
	s, err := text(o, prefix, key, 40, oneLine)
	if err != nil || s == "" {
		return time.Time{}, err
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() == 0 {
		return time.Time{}, fmt.Errorf("%s%s %q is not a date of the form YYYY-MM-DD", prefix, key, s)
	}
	return t, nil
}

// oneLine joins the words of s with single spaces. Control characters are spaces.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
