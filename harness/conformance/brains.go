package conformance

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
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

// creates makes a brain with some fields besides the check's own, judges the
// answer, and deletes the brain. Every value "{new}" stands for a name that no
// other brain has.
func creates(fields object, status int, wants ...want) step {
	return func(ctx context.Context, t *trial) error {
		unique := t.brain + "x"
		sent := object{}
		for name, v := range fields {
			if s, ok := v.(string); ok {
				v = strings.ReplaceAll(s, "{new}", unique)
			}
			sent[name] = v
		}
		res, err := t.do(ctx, root(http.MethodPost, "/v1/brains").json(sent))
		if err != nil {
			return err
		}
		if o, err := res.object(); err == nil && res.status/100 == 2 {
			if id, ok := o["id"].(string); ok {
				defer func() { _ = t.target.deleteBrain(ctx, id) }() // the verdict is not about it
			}
		}
		return res.judge(status, wants)
	}
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

		should("brains-create-201", "2", "POST /v1/brains answers 201.", creates(fresh, 201)),
		should("brains-create-id", "2", "A new brain has an id.", creates(fresh, 0, status2xx, key("id", isText))),
		should("brains-create-name", "2", "A new brain has the name that it was given.",
			creates(object{"name": "{new}"}, 0, status2xx, key("name", isText))),
		should("brains-create-slug", "2", "A slug that is not given is made from the name, by the rule of slugs.",
			creates(object{"name": "{new} Notes & More"}, 0, status2xx, key("slug", isSlug))),
		should("brains-create-private", "2", "Visibility is private unless the request says otherwise.",
			creates(fresh, 0, status2xx, key("visibility", is("private")))),
		should("brains-create-visibility", "2", "A brain has the visibility that it was given.",
			creates(object{"name": "{new}", "visibility": "tenant"}, 0, status2xx, key("visibility", is("tenant")))),
		should("brains-create-visibility-unknown-400", "2", "An unknown visibility is 400.",
			creates(object{"name": "{new}", "visibility": "secret"}, 400)),
		should("brains-create-slug-invalid-400", "2", "A slug outside a-z, 0-9 and - is 400.",
			creates(object{"name": "{new}", "slug": "No Slug"}, 400)),
		should("brains-create-name-missing-400", "2", "A brain without name and id is 400.", creates(object{}, 400)),
		should("brains-create-camel-case", "2", "brainId is understood as the id.",
			creates(object{"brainId": "{new}"}, 0, status2xx, key("id", isText))),
		should("brains-create-snake-case", "2", "The answer's keys are in snake_case.", creates(fresh, 0, status2xx, inSnakeCase)),
		should("brains-create-twice-409", "2", "A brain that exists is 409.",
			func(ctx context.Context, t *trial) error {
				return answers(root("POST", "/v1/brains").json(object{"id": t.brain, "name": t.brain, "slug": t.brain}), 409)(ctx, t)
			}),

		should("brains-get-200", "2", "A brain can be asked for.", answers(brain("GET"), 200, key("id", isText))),
		should("brains-get-missing", "2", "Asking for a brain that does not exist is 404, or 403 with a token.", lacksBrain("GET", "", asItIs)),
		should("brains-list-items", "2", "The list of brains is an object with items.",
			answers(root("GET", "/v1/brains"), 200, key("items", isArray))),
		should("brains-list-holds", "2", "The list of brains holds a new brain.", inList),
		should("brains-delete-unconfirmed-428", "2", "Deleting a brain without X-Confirm-Delete: yes is 428.",
			put("a.md", "one"), answers(brain("DELETE"), 428), reads("a.md", "one")),
		should("brains-delete-204", "2", "Deleting a brain with X-Confirm-Delete: yes answers 204.",
			put("a.md", "one"), answers(confirmed, 204)),
		should("brains-delete-removes", "2", "The documents of a deleted brain are gone.",
			put("a.md", "one"), do(confirmed), answers(readOf("a.md"), 0, oneOf(404, 403))),
	}
}

func inList(ctx context.Context, t *trial) error {
	res, err := t.do(ctx, root("GET", "/v1/brains"))
	if err != nil {
		return err
	}
	o, err := res.object()
	if err != nil {
		return err
	}
	items, _ := o["items"].([]any)
	for _, item := range items {
		if b, ok := item.(object); ok && b["id"] == t.brain {
			return nil
		}
	}
	return fmt.Errorf("want brain %s in the list, got %s", t.brain, clip(res.body))
}
