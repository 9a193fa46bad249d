package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
)

// choose returns the layout for one scorer and one system of a file. wanted names them, empty if
// the file has only one of each.
func (l layout) choose(c *content, wanted string) (layout, error) {
	if err := l.ended(c); err != nil {
		return l, err
	}
	var scorers, systems []string
	if l.several != "" {
		scorers = l.names(c, l.several, scorersOf)
	}
	for n := len(l.systems); n > 0; n-- {
		coarser := l
		coarser.systems = l.systems[:n]
		found := coarser.names(c, "$", func(v any) []string { return []string{coarser.systemOf(v)} })
		if slices.Contains(systems, wanted) || len(found) < len(systems) { // another file may need the longer names
			break
		}
		systems, l = found, coarser
	}
	if wanted != "" && !slices.Contains(scorers, wanted) && !slices.Contains(systems, wanted) {
		if len(scorers)+len(systems) == 0 {
			return l, fmt.Errorf("%s has no answers of several systems: leave out --system", c.path)
		}
		return l, fmt.Errorf("%s has no answers or scores of %q; it has answers or scores of %s", c.path, wanted, listed(append(scorers, systems...)))
	}
	by := wanted
	if !slices.Contains(scorers, wanted) && slices.Contains(scorers, l.usual) {
		by = l.usual
	}
	scorer, err := one(c.path, "scorers", scorers, by)
	if err == nil {
		l.system, err = one(c.path, "systems", systems, wanted)
	}
	l.part = len(systems) > 1 || len(scorers) > 1
	if err != nil || l.several == "" {
		return l, err
	}
	l.fields = maps.Clone(l.fields)
	key := strings.TrimSuffix(strings.TrimPrefix(pathOf(scorer), "$["), "]")
	if scorer != "" {
		l.fields[fieldVerdict] = l.verdictOf
	}
	for name, paths := range l.fields {
		l.fields[name] = slices.Clone(paths)
		for i := range paths {
			l.fields[name][i] = strings.ReplaceAll(paths[i], "%s", key)
		}
	}
	return l, nil
}

// ended refuses a file of a run that did not end: the rate of a part is not the system's.
func (l layout) ended(c *content) error {
	if l.status == "" {
		return nil
	}
	for _, status := range jsonpath.MustParse(l.status).Select(c.value) {
		if text := textOf(status); text != "success" {
			return fmt.Errorf("%s is of a run that did not end: its status is %.40q; finish the run, or describe the file with --mapping FILE "+
				"to import the answers that it has", c.path, text)
		}
	}
	return nil
}

// scorersOf returns the names of the scorers in an object or a list of scores (see
// layout.several).
func scorersOf(scores any) (names []string) {
	if list, ok := scores.([]any); ok {
		for _, one := range list {
			if score, ok := one.(map[string]any); ok {
				names = append(names, textOf(score["key"]))
			}
		}
		return names
	}
	object, _ := scores.(map[string]any)
	return slices.Collect(maps.Keys(object))
}

// one returns the wanted name, or else the only one.
func one(path, what string, names []string, wanted string) (string, error) {
	switch {
	case slices.Contains(names, wanted):
		return wanted, nil
	case len(names) == 0:
		return "", nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%s has %d %s; choose one with --system: %s", path, len(names), what, listed(names))
}

// listed lists names, which may have commas.
func listed(names []string) string {
	for _, n := range names {
		if strings.Contains(n, ",") {
			return strings.Join(names, "; ")
		}
	}
	return strings.Join(names, ", ")
}

// names returns the names found at a path in a file's answers, in order.
func (l layout) names(c *content, path string, of func(any) []string) []string {
	found := map[string]bool{}
	rows, err := l.rows(c.value)
	if err != nil {
		return nil
	}
	p := jsonpath.MustParse(path)
	for _, r := range rows {
		for _, v := range p.Select(r.value) {
			for _, name := range of(v) {
				found[name] = true
			}
		}
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// of reports whether an answer is by the selected system.
func (l layout) of(r row) bool {
	return l.system == "" || l.systemOf(r.value) == l.system
}

// systemOf returns the name of the system that gave an answer, such as "openai:gpt-4o-mini" or, with
// two paths, "openai:gpt-4o-mini, promptIdx 1".
func (l layout) systemOf(answer any) string {
	var parts []string
	for i, path := range l.systems {
		for _, v := range jsonpath.MustParse(path).Select(answer) {
			part := textOf(v)
			if i > 0 {
				part = path[strings.LastIndexByte(path, '.')+1:] + " " + part
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
