package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var slugRule = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func isSlug(got any) error {
	s, _ := got.(string)
	if !slugRule.MatchString(s) {
		return fmt.Errorf("want 1 to 64 of a-z, 0-9 and -, got %s", clip(encode(got)))
	}
	return nil
}

// brain addresses the check's brain itself.
func brain(method string) request { return at(method, "") }

// newName is a name that no other brain has.
func newName(t *trial) string { return t.brain + "x" }

// creates makes a brain with some fields besides the check's own, judges the
// answer, takes steps in the new brain, and deletes it. Every value "{new}"
// stands for newName.
func creates(fields object, status int, wants []want, then ...step) step {
	return func(ctx context.Context, t *trial) error {
		sent := object{}
		for name, v := range fields {
			if s, ok := v.(string); ok {
				v = strings.ReplaceAll(s, "{new}", newName(t))
			}
			sent[name] = v
		}
		res, err := t.do(ctx, root(http.MethodPost, "/v1/brains").json(sent))
		if err != nil {
			return err
		}
		made := &trial{target: t.target, brain: newName(t)}
		if o, err := res.object(); err == nil && res.status/100 == 2 {
			if id, ok := o["id"].(string); ok {
				made.brain = id
				defer func() { _ = t.target.deleteBrain(ctx, id) }() // the verdict is not about it
			}
		}
		if err := res.judge(status, wants); err != nil {
			return err
		}
		err = made.take(ctx, then)
		t.remember(cmp.Or(made.last(), t.last()))
		return err
	}
}

// makes judges a field of a new brain, as it was answered and as it is asked
// for afterwards.
func makes(fields object, name string, v value) step {
	return creates(fields, 0, []want{status2xx, key(name, v)}, answers(brain("GET"), 200, key(name, v)))
}

func brainChecks() []check {
	confirmed := brain("DELETE").with("X-Confirm-Delete", "yes")
	fresh := object{"name": "{new}"}
	return []check{
		must("brains-health-200", "4.4", "GET /healthz answers 200.",
			answers(root("GET", "/healthz"), 200)),
		should("brains-health-ok", "4.4", "GET /healthz answers a JSON object whose ok is true.",
			answers(root("GET", "/healthz"), 200, key("ok", is(true)))),
		should("brains-health-open", "4.4", "GET /healthz needs no credentials.",
			answers(root("GET", "/healthz").as(anonymous), 200)),

		should("brains-create-201", "2", "POST /v1/brains answers 201, and the brain can be used.", creates(fresh, 201, nil, put("a.md", "one"), reads("a.md", "one"))),
		should("brains-create-id", "2", "A new brain has an id.", makes(fresh, "id", isText)),
		should("brains-create-name", "2", "A new brain has the name that it was given.", func(ctx context.Context, t *trial) error {
			return makes(fresh, "name", is(newName(t)))(ctx, t)
		}),
		should("brains-create-slug", "2", "A slug that is not given is made from the name, by the rule of slugs.",
			makes(object{"name": "{new} Notes & More"}, "slug", isSlug)),
		should("brains-create-private", "2", "Visibility is private unless the request says otherwise.",
			makes(fresh, "visibility", is("private"))),
		should("brains-create-visibility", "2", "A brain has the visibility that it was given.",
			makes(object{"name": "{new}", "visibility": "tenant"}, "visibility", is("tenant"))),
		should("brains-create-visibility-unknown-400", "2", "An unknown visibility is 400.",
			creates(object{"name": "{new}", "visibility": "secret"}, 400, nil)),
		should("brains-create-slug-invalid-400", "2", "A slug outside a-z, 0-9 and - is 400.",
			creates(object{"name": "{new}", "slug": "No Slug"}, 400, nil)),
		should("brains-create-name-missing-400", "2", "A brain without name and id is 400.", creates(object{}, 400, nil)),
		should("brains-create-camel-case", "2", "brainId is understood as the id.", func(ctx context.Context, t *trial) error {
			return makes(object{"brainId": "{new}"}, "id", is(newName(t)))(ctx, t)
		}),
		should("brains-create-snake-case", "2", "The answer's keys are in snake_case.", creates(fresh, 0, []want{status2xx, inSnakeCase})),
		should("brains-create-twice-409", "2", "A brain that exists is 409, and is as it was.",
			put("a.md", "one"), again(409), reads("a.md", "one")),

		should("brains-get-200", "2", "A brain can be asked for.", func(ctx context.Context, t *trial) error {
			return answers(brain("GET"), 200, key("id", is(t.brain)))(ctx, t)
		}),
		should("brains-get-missing", "2", "Asking for a brain that does not exist is 404, or 403 with a token.", lacksBrain("GET", "", asItIs)),
		should("brains-list-items", "2", "The list of brains is an object with items.",
			answers(root("GET", "/v1/brains"), 200, key("items", isArray))),
		should("brains-list-holds", "2", "The list of brains holds a new brain.", listed(true)),
		should("brains-delete-unconfirmed-428", "2", "Deleting a brain without X-Confirm-Delete: yes is 428.",
			put("a.md", "one"), answers(brain("DELETE"), 428), reads("a.md", "one")),
		should("brains-delete-204", "2", "Deleting a brain with X-Confirm-Delete: yes answers 204.",
			put("a.md", "one"), answers(confirmed, 204)),
		should("brains-delete-removes", "2", "A deleted brain is gone, with its documents.",
			put("a.md", "one"), do(confirmed), answers(readOf("a.md"), 0, oneOf(404, 403)), answers(brain("GET"), 0, oneOf(404, 403)), listed(false)),
		should("brains-delete-forgets", "2", "A brain that is made again under the id of a deleted one is empty.",
			put("a.md", "one"), do(confirmed), again(201), absent("a.md"), listsAll()),
	}
}

// again makes the check's brain once more. A daemon that makes another one, of
// an id of its own, is not judged.
func again(status int) step {
	return func(ctx context.Context, t *trial) error {
		res, err := t.do(ctx, root("POST", "/v1/brains").json(object{"id": t.brain, "name": t.brain, "slug": t.brain}))
		if err != nil {
			return err
		}
		if o, err := res.object(); err == nil && res.status/100 == 2 {
			if id, ok := o["id"].(string); ok && id != t.brain {
				_ = t.target.deleteBrain(ctx, id) // the verdict is not about it
				return notJudged{"the daemon gives brains ids of its own"}
			}
		}
		return res.judge(status, nil)
	}
}

// listed wants the check's brain to be in the list of brains, or not to.
func listed(want bool) step {
	return func(ctx context.Context, t *trial) error {
		return answers(root("GET", "/v1/brains"), 200, key("items", func(got any) error {
			items, _ := got.([]any)
			has := slices.ContainsFunc(items, func(item any) bool { b, _ := item.(object); return b["id"] == t.brain })
			if has != want {
				return fmt.Errorf("want brain %s in the list: %v, got %s", t.brain, want, clip(encode(got)))
			}
			return nil
		}))(ctx, t)
	}
}
