package yamlfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/yamlfile"
)

type reply struct {
	Key   string   `yaml:"key"`
	Right []string `yaml:"right"`
}

type file struct {
	Name        string   `yaml:"name"`
	Temperature *float64 `yaml:"temperature"`
	Reply       *reply   `yaml:"reply"`
}

func TestDecode(t *testing.T) {
	var got file
	err := yamlfile.Decode("f", []byte("name: \"1\"\ntemperature: 0.5\nreply: {key: a, right: [yes, 'no']}\n"), &got)
	want := file{"1", new(0.5), &reply{"a", []string{"yes", "no"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if err := yamlfile.Decode("f", []byte(text), &got); !errors.Is(err, yamlfile.ErrEmpty) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\nnme: b\n":                         `f:2: unknown key "nme": did you mean "name"?`,
		"reply:\n  key: a\n  rihgt: [b]\n":          `f:3: unknown key "rihgt": did you mean "right"?`,
		"\nverdicts: a\n":                           `f:2: unknown key "verdicts"; known are name, reply, temperature`,
		"name: [a]\n":                               "f:1: name must be a text",
		"temperature: warm\n":                       "f:1: temperature must be a number",
		"reply: {right: {a: b}}\n":                  "f:1: right must be a list of texts, such as [yes, no]",
		"reply: yes\n":                              "f:1: reply must be a mapping, such as key: …",
		"- name\n":                                  "f:1: the file must be a mapping, such as name: …",
		"name: a\nname: b\n":                        `f:2: "name" is set twice, first in line 1`,
		"name: a\n---\nname: b\n":                   "f:2: the file has more than one document; write one",
		"name: a\n b: c\n":                          "f:2: mapping values are not allowed in this context",
		"<<: {name: a}\n":                           `f:1: unknown key "<<"`,
		"? [a]\n: b\n":                              `f:1: unknown key ""`,
		strings.Repeat("a", 300) + ": 1\nname: b\n": `f:1: unknown key "aaa`,
	} {
		var got file
		if err := yamlfile.Decode("f", []byte(text), &got); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: a\nreply: {key: b, right: [c]}\n"))
	f.Add([]byte("a: &a [*a]\nname: *a\n"))
	f.Add([]byte("reply: &r {key: x}\nname: *r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got file
		err := yamlfile.Decode("f", data, &got)
		for _, internal := range []string{"yamlfile_test.", "cannot unmarshal"} {
			if err != nil && strings.Contains(err.Error(), internal) && !bytes.Contains(data, []byte(internal)) {
				t.Errorf("%q in %v", internal, err)
			}
		}
	})
}
