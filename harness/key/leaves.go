package key

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"evalctl/harness/result"
)

// Leaves returns the JSON text of every value set in v, by dotted key such as judge.model. v must
// have plain fields only.
func Leaves(v any) map[string]string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode settings: %v", err)) // plain fields only
	}
	out := map[string]string{}
	var walk func(prefix string, raw json.RawMessage)
	walk = func(prefix string, raw json.RawMessage) {
		if string(raw) == "null" {
			return // like a missing key
		}
		var sub map[string]json.RawMessage
		if raw[0] != '{' || json.Unmarshal(raw, &sub) != nil {
			out[prefix] = string(raw)
			return
		}
		for k, v := range sub {
			walk(strings.TrimPrefix(prefix+"."+k, "."), v)
		}
	}
	walk("", data)
	return out
}

// owners maps leaves to their settings.
var owners = sync.OnceValue(func() map[string]*Setting {
	out := map[string]*Setting{}
	for i := range table {
		for _, leaf := range strings.Fields(table[i].leaves) {
			out[leaf] = &table[i]
		}
	}
	return out
})

// settingAt returns the setting that owns a leaf or, failing that, the longest key above it, nil if
// there is none.
func settingAt(leaf string) *Setting {
	s := owners()[leaf]
	for s == nil {
		dot := strings.LastIndexByte(strings.TrimSuffix(leaf, "."), '.')
		if dot < 0 {
			return nil
		}
		leaf = leaf[:dot+1]
		s = owners()[leaf]
	}
	return s
}

// set returns the values at the leaves of a setting. An unset leaf contributes nothing.
func (f *File) set(s *Setting) string {
	if f.settings == nil {
		if f.settings = f.Leaves; f.Result != nil {
			f.settings = Leaves(f.Result.Identity)
		}
	}
	if f.settings == nil {
		return ""
	}
	var out []string
	for _, leaf := range slices.Sorted(maps.Keys(f.settings)) {
		if settingAt(leaf) == s {
			out = append(out, strings.Trim(f.settings[leaf], `"`))
		}
	}
	return cmp.Or(strings.Join(out, ", "), None)
}

// Changed returns the sorted leaves in which two identities differ and that a purpose does not
// ignore.
func Changed(p Purpose, before, now result.Identity) []string {
	return changed(p, Leaves(before), Leaves(now))
}

func changed(p Purpose, a, b map[string]string) (out []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for leaf := range all {
		if a[leaf] == b[leaf] {
			continue
		}
		if s := settingAt(leaf); s == nil || s.Role(p) != Ignored { // nil for one of another evalctl
			out = append(out, leaf)
		}
	}
	slices.Sort(out)
	return out
}

// Differences returns the differences that make two identities different experiments, one line
// each. The contents of files matter, but not their paths.
func Differences(before, now result.Identity) []string {
	a, b := Leaves(before), Leaves(now)
	out := changed(Resume, a, b)
	for i, leaf := range out {
		out[i] = fmt.Sprintf("%s was %s and is now %s", leaf, cmp.Or(a[leaf], "not set"), cmp.Or(b[leaf], "not set"))
	}
	return out
}
