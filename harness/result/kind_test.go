package result_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		head string
		want result.FileKind
		says string
	}{
		{`{"sdk": "go", "scorer": "exact", "total": 1, "passed": 1, "pass_rate": 1, "identity": {"schema_version": 7}, "x": [`, result.RunFile, "(schema 7)"},
		{`{"sdk": "go", "scorer": "exact", "total": 1, "passed": 1, "pass_rate": 1, "tags": {"a"`, result.RunFile, "a result file of evalctl; expected"},
		{"\xef\xbb\xbf \r\n" + `{"counts": {}, "identity": {}}`, result.RunFile, ""},
		{`{"schema_version": 1, "sdk": "go", "cells": [{"res`, result.SweepFile, "(schema 1)"},
		{`{"schema_version": 2, "kind": "bench", "sdk": "go", `, result.BenchFile, "(schema 2)"},
		{`{"kind": "run", "identity": {"schema_version": 1}}` + "\n{}", result.JournalFile, "run --resume"},
		{`{"kind": "replay", "version": 1, "started_at": "x"}` + "\n{}", result.LedgerFile, "replay --resume"},
		{`{"endpoint": "http://x", "results": []}`, result.ConformanceFile, "evalctl show"},
		{"\x1f\x8b\b", result.PackedFile, "unpack it"}, {"PK\x03\x04", result.PackedFile, ""},
		{"\xff\xfe{\x00", result.UTF16File, "UTF-8"}, {"{\x00\"\x00", result.UTF16File, ""},
		{"", result.OtherFile, ""}, {" \n", result.OtherFile, ""}, {"[]", result.OtherFile, ""}, {"{", result.OtherFile, ""},
		{`{"id": "q1", "question": "?"}` + "\n", result.OtherFile, ""},
		{`{"kind": "run of the mill", "identity": "x"}`, result.OtherFile, ""},
		{"kind: run\n", result.OtherFile, ""},
	} {
		if got := result.KindOf([]byte(c.head)); got != c.want {
			t.Errorf("%q is %q, want %q", c.head, got, c.want)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(c.head), 0o600); err != nil {
			t.Fatal(err)
		}
		err := result.Unexpected(path, "a dataset")
		if c.want == result.OtherFile {
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
	if err := result.Unexpected(t.TempDir(), "a dataset"); err == nil || !strings.Contains(err.Error(), "is a folder; ") {
		t.Errorf("a folder: %v", err)
	}
	if err := result.Unexpected(filepath.Join(t.TempDir(), "none"), "a dataset"); err != nil {
		t.Errorf("a file that does not exist: %v", err)
	}
}
