package replay

import (
	"errors"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/replay/ingest"
)

// held is what an arm has open. A baseline holds nothing, a daemon that was running already only a
// session.
type held struct {
	session *harness.Session // nil for a baseline
	home    *ingest.Folder   // nil unless the daemon is started
	money   *moneyGate       // without gateways unless the daemon is started
	newHome bool             // the daemon has never had its home
}

// daemon identifies the daemon, with its version. The zero value is that of a baseline.
func (h *held) daemon() (id result.DaemonID) {
	if h.session != nil {
		id = h.session.ID()
	}
	return id
}

// process reports whether this process started the daemon.
func (h *held) process() bool { return h.session != nil && h.session.Started() }

// failed reports whether the daemon could not use what its models replied, when its home was filled.
func (h *held) failed() bool { return h.home != nil && h.home.Failed() }

// record returns the path of the list of brains that are filled. cache is the folder that has it for
// a daemon that was running already.
func (h *held) record(cache string) string {
	switch {
	case h.home != nil:
		return h.home.Record()
	case h.process():
		return "" // its home is not one that is kept for other replays
	}
	return ingest.EndpointRecord(cache, h.session.Service().URL())
}

// close stops the daemon, and what it used.
func (h *held) close() error {
	var errs []error
	if h.session != nil {
		errs = append(errs, h.session.Close())
	}
	errs = append(errs, h.money.close())
	if h.home != nil {
		errs = append(errs, h.home.Close())
	}
	return errors.Join(errs...)
}
