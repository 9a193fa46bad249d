package resultfile

import (
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		head string
		want Kind
		says string
	}{
		{`{"sdk": "go", "scorer": "exact", "total": 1, "passed": 1, "pass_rate": 1, "identity": {"schema_version": 7}, "x": [`, Run, "(schema 7)"},
		{`{"sdk": "go", "scorer": "exact", "total": 1, "passed": 1, "pass_rate": 1, "tags": {"a"`, Run, "a result file of evalctl; expected"},
		{`{"sdk": "go", "scorer": "exact", "total": 1, "passed": 1, "pass_rate": 1, "tags": {"a"`, Run, "use evalctl show, compare, verify or rescore with it"},
		{"\xef\xbb\xbf \r\n" + `{"counts": {}, "identity": {}}`, Run, ""},
		{`{"schema_version": 1, "sdk": "go", "cells": [{"res`, Sweep, "(schema 1)"},
		{`{"schema_version": 2, "kind": "bench", "sdk": "go", `, Bench, "(schema 2)"},
		{`{"kind": "run", "identity": {"schema_version": 1}}` + "\n{}", journalFile, "run --resume"},
		{`{"kind": "replay", "version": 1, "started_at": "x"}` + "\n{}", ledgerFile, "replay --resume"},
		{`{"endpoint": "http://x", "results": []}`, conformanceFile, "evalctl show"},
		{"\x1f\x8b\b", packedFile, "unpack it"}, {"PK\x03\x04", packedFile, ""},
		{"\xff\xfe{\x00", utf16File, "UTF-8"}, {"{\x00\"\x00", utf16File, ""},
		{"", otherFile, ""}, {" \n", otherFile, ""}, {"[]", otherFile, ""}, {"{", otherFile, ""},
		{`{"id": "q1", "question": "?"}` + "\n", otherFile, ""},
		{`{"kind": "run of the mill", "identity": "x"}`, otherFile, ""},
		{"kind: run\n", otherFile, ""},
	} {
		if got, _ := kindOf([]byte(c.head)); got != c.want {
			t.Errorf("%q is %q, want %q", c.head, got, c.want)
		}
		path := filetest.Write(t, filepath.Join(t.TempDir(), "file"), c.head)
		err := Unexpected(path, "a dataset")
		if c.want == otherFile {
			if err != nil {
				t.Errorf("%q: %v", c.head, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+" is "+string(c.want)) ||
			!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "; expected a dataset; ") {
			t.Errorf("%q: %v", c.head, err)
		}
	}
	if err := Unexpected(t.TempDir(), "a dataset"); err == nil || !strings.Contains(err.Error(), "is a folder; ") {
		t.Errorf("a folder: %v", err)
	}
	if err := Unexpected(filepath.Join(t.TempDir(), "none"), "a dataset"); err != nil {
		t.Errorf("a file that does not exist: %v", err)
	}
}
