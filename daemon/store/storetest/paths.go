package storetest

import (
	"fmt"
	"strings"

	"evalctl/daemon/store"
)

var invalidPaths = []string{
	"", "/", "/a", "a/", "a//b", "//a", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b", "a/../../b",
	"a\x00b", "\x00", `a\b`, `..\a`, "a\xffb", "\xc3",
	strings.Repeat("n", store.MaxSegmentBytes+1), "d/" + strings.Repeat("é", 128),
	strings.Repeat("d/", store.MaxPathChars/2) + "a", "d/" + deepPath(), strings.Repeat("😀/", store.MaxPathChars/2),
}

// pathCases returns a case for each invalid path. Every operation must reject it.
func pathCases() []scenario {
	var cases []scenario
	for i, path := range invalidPaths {
		name := fmt.Sprintf("%d %.20q", i, path)
		cases = append(cases, scenario{name: name, before: "a=1", readOnly: true, do: check(func(p *probe) {
			wantInvalid(p, path)
			if file, ok := p.LocalPath(path); ok || file != "" {
				p.Errorf("local path %q", file)
			}
		})})
	}
	return cases
}

func wantInvalid(p *probe, path string) {
	p.Helper()
	_, readErr := p.Read(p.ctx, path)
	_, statErr := p.Stat(p.ctx, path)
	_, existsErr := p.Exists(p.ctx, path)
	errs := map[string]error{
		"read": readErr, "stat": statErr, "exists": existsErr,
		"write":  p.Write(p.ctx, path, nil),
		"append": p.Append(p.ctx, path, nil),
		"delete": p.Delete(p.ctx, path),
		"from":   p.Rename(p.ctx, path, "b"),
		"to":     p.Rename(p.ctx, "a", path),
		"apply":  p.Apply(p.ctx, store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: path}}}),
		"batch": p.Batch(p.ctx, store.BatchOptions{}, func(b *store.Batch) error {
			if _, err := b.Read(p.ctx, path); !store.IsInvalidPath(err) {
				p.Errorf("read in a batch: %v", err)
			}
			return b.Write(p.ctx, path, nil)
		}),
	}
	if path != "" { // the root
		_, errs["list"] = p.List(p.ctx, path, store.ListOptions{})
	}
	for op, err := range errs {
		if !store.IsInvalidPath(err) {
			p.Errorf("%s: %v, want invalid path", op, err)
		}
	}
}
