package dataset

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"evalctl/internal/filetest"
)

func compileSchema(t *testing.T, name string) (*jsonschema.Schema, map[string][]string) {
	t.Helper()
	data := filetest.Read(t, "../../docs/"+name+".schema.json")
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:schema")
	if err != nil {
		t.Fatal(err)
	}
	var also struct{ DependentRequired map[string][]string }
	if err := json.Unmarshal(data, &also); err != nil {
		t.Fatal(err)
	}
	return s, also.DependentRequired
}

// checkSchema checks that the schema accepts a line if and only if read does.
func checkSchema(t *testing.T, s *jsonschema.Schema, line string, read func([]byte) error) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	bySchema, byReader := s.Validate(v), read([]byte(line))
	if (bySchema == nil) != (byReader == nil) {
		t.Errorf("%.200s\nthe schema says %v\nthe reader says %v", line, bySchema, byReader)
	}
}

// TestSchemaOfQuestions compares the schema with the reader.
func TestSchemaOfQuestions(t *testing.T) {
	s, renamed := compileSchema(t, "dataset")
	read := func(line []byte) error { _, err := parseQuestion(line, questionKeys()); return err }
	for _, line := range []string{
		`[]`, `null`, `"x"`, `{}`, `{"id":"a"}`, `{"question":"q"}`, `{"id":"","question":"q"}`, `{"id":"a","question":""}`,
		`{"id":7,"question":"q"}`, `{"id":null,"question":"q"}`, `{"id":"a","question":true}`, `{"id":"a","question":" "}`,
	} {
		checkSchema(t, s, line, read)
	}
	for _, members := range []string{
		``, `,"other":[1]`, `,"tags":null`, `,"tags":[]`, `,"tags":["a","b"]`, `,"tags":["a","a"]`, `,"tags":"a"`,
		`,"tags":[1]`, `,"tags":[null]`, `,"tags":{}`, `,"expected_substrings":["",""]`, `,"expected_substrings":"x"`,
		`,"expected_paths":["a","a"]`, `,"expected_evidence":["a b"]`, `,"expected_evidence":["…"]`, `,"expected_evidence":[""]`, `,"expected_evidence":"a"`,
		`,"expected_evidence":null`, `,"expected_evidence":["駅"]`, `,"expected_evidence":["7"]`, `,"expected_paths":[null]`, `,"expected_paths":7`, `,"reference_answer":""`,
		`,"reference_answer":null`, `,"reference_answer":7`, `,"reference_answer":["x"]`,
		`,"question_date":"2025-03-14"`, `,"question_date":"2025-02-30"`, `,"question_date":"2025-03-14T09:00:00Z"`,
		`,"question_date":"2025-03-14T09:00:00.5+01:00"`, `,"question_date":"2025-03-14T09:00:00"`,
		`,"question_date":"2025-03-14T25:00:00Z"`, `,"question_date":"2025-03-14T9:00:00Z"`,
		`,"question_date":"2025-03-14 09:00:00Z"`, `,"question_date":"2025-03-14T09:00:00,5Z"`, `,"question_date":"14.3.2025"`, `,"question_date":""`,
		`,"question_date":null`, `,"question_date":7`, `,"question_date":"2025-3-14"`,
		`,"brain":"a-1"`, `,"brain":"-a"`, `,"brain":"A"`, `,"brain":""`, `,"brain":null`, `,"brain":1`,
		`,"brain":"` + strings.Repeat("a", 64) + `"`, `,"brain":"` + strings.Repeat("a", 65) + `"`,
		`,"answer":"x"`, `,"answer":"x","reference_answer":null`,
		`,"as_of":"2025-03-14"`, `,"as_of":"2025-03-14T09:00:00Z"`, `,"as_of":""`, `,"as_of":null`, `,"as_of":7`,
		`,"as_of":"2025-03-14","question_date":"2025-03-14"`, `,"as_of":"","question_date":"2025-03-14"`,
		`,"forbidden":["x"]`, `,"forbidden":[" "]`, `,"forbidden":"x"`, `,"forbidden":null`, `,"forbidden":[1]`,
		`,"must_cite":["a.md"]`, `,"must_cite":["/a.md"]`, `,"must_cite":[""]`, `,"must_cite":"a.md"`, `,"must_cite":null`,
		`,"before":null`, `,"before":[]`, `,"before":{}`, `,"before":[1]`, `,"before":[{}]`, `,"before":[{"op":1}]`,
	} {
		checkSchema(t, s, `{"id":"a","question":"q"`+members+`}`, read)
	}
	for _, op := range []string{
		`"op":"put","path":"a.md","text":"x"`, `"op":"put","path":"a.md"`, `"op":"put","text":"x"`, `"op":"Put","path":"a.md","text":"x"`,
		`"op":"put","path":"a.md","text":"x","title":"t","date":"2025-03-14","brain":"b"`, `"op":"put","path":"a.md","text":" "`,
		`"op":"put","path":"a.md","text":"x","date":"soon"`, `"op":"put","path":"a.md","text":"x","brain":"B"`,
		`"op":"put","path":"../a.md","text":"x"`, `"op":"put","path":"_a.md","text":"x"`, `"op":"put","path":"a.md","text":null`,
		`"op":"put","path":"a.md","text":"x","to":"b.md"`, `"op":"put","path":"a.md","text":"x","other":"y"`,
		`"op":"append","path":"a.md","text":"x"`, `"op":"append","path":"a.md","text":"x","date":"2025-03-14"`,
		`"op":"remember","text":"x"`, `"op":"remember","text":"x","path":"a.md","title":"t"`, `"op":"remember","path":"a.md"`,
		`"op":"message","session":"s","text":"x"`, `"op":"message","session":"s","text":"x","role":"boss"`,
		`"op":"message","session":"s","text":"x","role":"tool","speaker":"Mia","date":"2025-03-14T09:00:00Z"`,
		`"op":"message","text":"x"`, `"op":"message","session":"a\u0001","text":"x"`, `"op":"reflect"`,
		`"op":"consolidate"`, `"op":"consolidate","brain":"b"`, `"op":"consolidate","path":"a.md"`,
		`"op":"restart"`, `"op":"restart","brain":"b"`, `"op":"forget","path":"a.md"`, `"path":"a.md"`, `"op":""`,
	} {
		checkSchema(t, s, `{"id":"a","question":"q","before":[{`+op+`}]}`, read)
	}
	for key := range renamed {
		checkSchema(t, s, `{"id":"a","question":"q","`+key+`":"x"}`, read)
	}
	files, err := filepath.Glob("../../datasets/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data := filetest.Read(t, file)
		for line := range readLines(bytes.NewReader(data), file) {
			checkSchema(t, s, string(line.text), read)
		}
	}
}

// TestSchemaOfDocuments compares the schema with the reader.
func TestSchemaOfDocuments(t *testing.T) {
	s, renamed := compileSchema(t, "corpus")
	read := func(line []byte) error { _, _, err := parseDoc(line, documentKeys()); return err }
	for _, line := range []string{
		`[]`, `{}`, `{"path":"a"}`, `{"text":"x"}`, `{"path":"","text":"x"}`, `{"path":null,"text":"x"}`,
		`{"path":"a","text":""}`, `{"path":"a","text":null}`, `{"path":"a","title":""}`, `{"path":"a","title":"x"}`,
		`{"path":"a","title":null,"text":"x"}`, `{"path":"a","title":7,"text":"x"}`, `{"path":"a","text":7}`,
		`{"path":"a","text":"x","other":{}}`, `{"path":"a","title":"x","content":"y"}`,
		`{"path":"a","title":"x","text":null,"content":"y"}`, `{"path":"a","title":"x","text":"","body":"y"}`,
	} {
		checkSchema(t, s, line, read)
	}
	for _, path := range []string{
		"a/b.md", "/a", "a/", "a//b", "./a", "a/./b", "../a", "a/..", ".", "..", "...", "a/.b", `a\\b`, `a\u0000`,
		"_a", "a/_b.md", "_a/b", "a b", "é", "a/b/..c",
	} {
		checkSchema(t, s, `{"path":"`+path+`","text":"x"}`, read)
	}
	for _, members := range []string{
		`"date":"2025-03-14"`, `"date":"soon"`, `"date":""`, `"date":null`, `"date":"2025-03-14T09:00:00Z"`,
		`"date":7`, `"brain":"a"`, `"brain":"A b"`, `"brain":""`, `"brain":null`,
	} {
		checkSchema(t, s, `{"path":"a","text":"x",`+members+`}`, read)
	}
	for key := range renamed {
		checkSchema(t, s, `{"path":"a","text":"x","`+key+`":"x"}`, read)
	}
	checkSchema(t, s, `{"id":"a","text":"x"}`, read)
}
