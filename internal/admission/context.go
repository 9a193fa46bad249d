package admission

import (
	"context"
	"sync"
)

type passKey struct{}

// pass is what the context of a request carries to the place where its work begins.
type pass struct {
	gate   *Gate
	tenant string
	// arrived is called once the work is at the gate, or will not come.
	arrived func()
}

// With returns a context whose work passes the gate, for a tenant. From the call of expect, the work
// is on its way, and may wait for other things, such as a database. The caller must call end once it
// has passed the gate or will not come; expect has no effect then.
func With(ctx context.Context, g *Gate, tenant string) (on context.Context, expect, end func()) {
	var mu sync.Mutex
	expected, over := false, false
	expect = func() {
		mu.Lock()
		defer mu.Unlock()
		if !expected && !over {
			expected = true
			g.expect(tenant, 1)
		}
	}
	end = func() {
		mu.Lock()
		defer mu.Unlock()
		if expected && !over {
			g.expect(tenant, -1)
		}
		over = true
	}
	return context.WithValue(ctx, passKey{}, pass{g, tenant, end}), expect, end
}

// Enter is Gate.Enter for the gate and the tenant of the context. Without them, it admits the work
// at once.
func Enter(ctx context.Context) (release func(), err error) {
	p, ok := ctx.Value(passKey{}).(pass)
	if !ok {
		return func() {}, nil
	}
	p.arrived()
	return p.gate.Enter(ctx, p.tenant)
}
