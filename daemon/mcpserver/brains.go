package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func createBrain(ctx context.Context, c call) (reply, error) {
	create := protocol.CreateBrain{
		Name: c.args.text("name"), Slug: c.args.text("slug"), Visibility: c.args.text("visibility"),
	}
	b, err := c.client.CreateBrain(ctx, create)
	if create.ID = cmp.Or(create.Slug, slugOf(create.Name)); wantsID(err) && create.ID != "" {
		if again, err := c.client.CreateBrain(ctx, create); err == nil {
			return reply{again, "Created brain " + brainLine(again)}, nil
		}
	}
	if err != nil {
		return reply{}, err
	}
	return reply{b, "Created brain " + brainLine(b)}, nil
}

// wantsID reports whether a daemon may have rejected a brain because it has no id. Some daemons do
// not make one.
func wantsID(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusBadRequest && !e.NotSent
}

// slugOf makes a slug of a name. It is empty for a name without a usable character.
func slugOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(words, "-")
	return strings.TrimRight(slug[:min(len(slug), protocol.MaxBrainSlug)], "-")
}

func listBrains(ctx context.Context, c call) (reply, error) {
	list, err := c.brains(ctx)
	if err != nil {
		return reply{}, err
	}
	if len(list.Items) == 0 {
		return reply{list, "no brains"}, nil
	}
	var lines []string
	for _, b := range list.Items {
		lines = append(lines, brainLine(b))
	}
	return reply{list, strings.Join(lines, "\n")}, nil
}

func brainLine(b protocol.Brain) string {
	return fmt.Sprintf("%s: %q (%s, id %s)", b.Slug, b.Name, b.Visibility, b.ID)
}

// brains lists the brains that the caller may use. Items is never nil.
func (s *Server) brains(ctx context.Context) (protocol.BrainList, error) {
	list, err := s.client.Brains(ctx)
	if list.Items == nil {
		list.Items = []protocol.Brain{}
	}
	return list, err
}

// noBrain is a failed resolution (spec 7.3).
func noBrain(format string, args ...any) error {
	return &toolError{Code: protocol.CodeNoBrain, Message: fmt.Sprintf(format, args...)}
}

// slugForm is the form of a slug (spec 2), which has at most 64 characters.
var slugForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// inBrain runs an operation on the brain of a call (spec 1): the argument brain, else the server's
// default, else the one that the daemon names, else the first that it lists.
//
// The argument is an id, else a slug, else a name. Anything in the form of a slug is used as an id
// at once, because daemons resolve slugs. Only if the daemon rejects it, it is looked up in the
// list of brains. Anything else is looked up first, so that no daemon creates a brain for a name.
// It is used as an id if no listed brain has it, because a list need not have every brain.
func inBrain[T any](
	ctx context.Context, c call, run func(id string, b *client.Brain) (T, error),
) (T, error) {
	var none T
	name := cmp.Or(c.args.text("brain"), c.defaultBrain)
	if name == "" {
		id, err := c.firstBrain(ctx)
		if err != nil {
			return none, err
		}
		return run(id, c.client.Brain(id))
	}
	slug := len(name) <= 64 && slugForm.MatchString(name)
	var err error
	if slug {
		var result T
		if result, err = run(name, c.client.Brain(name)); !mayLackBrain(err) {
			return result, err
		}
	}
	list, listErr := c.brains(ctx)
	id, ambiguous := identify(list.Items, name)
	switch {
	case ambiguous != nil:
		return none, ambiguous
	case id != "" && (id != name || !slug):
		return run(id, c.client.Brain(id))
	case id != "" || slug && listErr != nil:
		return none, err // the brain may exist: something else does not
	case !slug:
		result, err := run(name, c.client.Brain(name))
		if listErr != nil || !mayLackBrain(err) && !hasStatus(err, http.StatusBadRequest) {
			return result, err
		}
	}
	return none, noBrain("no accessible brain has the id, slug or name %.64q", name)
}

// identify returns the id of the brain that an argument means, or "".
func identify(brains []protocol.Brain, name string) (id string, err error) {
	for _, value := range []func(protocol.Brain) string{
		func(b protocol.Brain) string { return b.ID },
		func(b protocol.Brain) string { return b.Slug },
		func(b protocol.Brain) string { return b.Name },
	} {
		var ids []string
		for _, b := range brains {
			if value(b) == name && b.ID != "" {
				ids = append(ids, b.ID)
			}
		}
		switch len(ids) {
		case 0:
		case 1:
			return ids[0], nil
		default:
			return "", noBrain("%d brains have the name %.64q: use one of the ids %.200q", len(ids), name, ids)
		}
	}
	return "", nil
}

// mayLackBrain reports whether an operation may have failed because the brain is unknown. Daemons
// with keys give the same response for unknown brains and for other tenants' brains.
func mayLackBrain(err error) bool {
	return hasStatus(err, http.StatusForbidden) || mayLackRoute(err)
}

// mayLackRoute reports whether an operation may have failed because the daemon does not have its
// endpoint.
func mayLackRoute(err error) bool {
	return hasStatus(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented)
}

func hasStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && !e.NotSent && slices.Contains(statuses, e.Status)
}

// lacksRoute reports whether an operation on a brain failed because the daemon does not have its
// endpoint. For a missing brain the status may be the same, so the brain must be listed.
func (c call) lacksRoute(ctx context.Context, id string, err error) bool {
	if !mayLackRoute(err) {
		return false
	}
	list, listErr := c.brains(ctx)
	if listErr != nil {
		return !hasStatus(err, http.StatusNotFound)
	}
	return slices.ContainsFunc(list.Items, func(b protocol.Brain) bool { return b.ID == id })
}

// firstBrain returns the id of the brain of calls that name none.
func (s *Server) firstBrain(ctx context.Context) (string, error) {
	list, err := s.client.DefaultBrain(ctx)
	switch {
	case err != nil:
		return "", err
	case list.DefaultBrainID != nil && *list.DefaultBrainID != "":
		return *list.DefaultBrainID, nil
	case list.DefaultBrainID != nil && len(list.Items) > 0:
		return "", noBrain("the daemon's default brain is not accessible: name one of the brains")
	case len(list.Items) > 0:
		return list.Items[0].ID, nil
	}
	return "", noBrain("there is no accessible brain: create one with memory_create_brain")
}
