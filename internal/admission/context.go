package admission

import "context"

type passKey struct{}

// pass is carried by the context of a request to the place where its work begins.
type pass struct {
	gate   *Gate
	tenant string
	coming bool // guarded by gate.mu
}

// With returns a context whose work passes the gate, for a tenant. From the call of coming on, the
// work is on its way, and may wait for other things, such as a database. The caller must call end
// once the work has passed the gate or will not come. Further calls of either do nothing.
func With(ctx context.Context, g *Gate, tenant string) (on context.Context, coming, end func()) {
	p := &pass{gate: g, tenant: tenant}
	return context.WithValue(ctx, passKey{}, p), func() { p.expect(true) }, func() { p.expect(false) }
}

// expect counts the work as on its way, or no longer.
func (p *pass) expect(coming bool) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.coming == coming {
		return
	}
	p.coming = coming
	change := 1
	if !coming {
		change = -1
	}
	t := p.gate.tenant(p.tenant)
	t.coming, p.gate.coming = t.coming+change, p.gate.coming+change
	p.gate.forget(t)
}

// Enter is Gate.Enter for the gate and the tenant of the context. Without them, it admits the work
// at once.
func Enter(ctx context.Context) (release func(), err error) {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok {
		return func() {}, nil
	}
	p.expect(false)
	return p.gate.Enter(ctx, p.tenant)
}
