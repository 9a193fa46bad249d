package faulttest

import (
	"context"
	"errors"
	"fmt"

	"evalctl/daemon/client"
)

// losePower has the device lose its cache when the machine goes down.
func losePower(s *site, _ int) error {
	s.device.refuse()
	return nil
}

// restorePower restarts the machine. Of the cache nothing has survived, or a part.
func restorePower(s *site, round int) error {
	if round%2 == 0 {
		return s.device.restart(none)
	}
	return s.device.restart(some(s.rng))
}

// refuseWrites lets the clients work with a disk that refuses writes.
func refuseWrites(s *site, _ int) error {
	s.device.refuse()
	s.rest()
	return nil
}

// allowWrites repairs the disk. In every second round, the daemon first starts without being able to
// write: what it shows then must be right, too. The database does not start so.
func allowWrites(s *site, round int) error {
	if err := s.device.restart(all); err != nil {
		return err
	}
	if round%2 == 0 || s.home == "" {
		return nil
	}
	if err := run("mount", "-o", "remount,ro", s.folder); err != nil {
		return err
	}
	err := s.startRefused()
	s.crash()
	return errors.Join(err, run("mount", "-o", "remount,rw", s.folder))
}

// startRefused starts a daemon that may refuse to start, or to open a brain. What it shows is
// checked.
func (s *site) startRefused() error {
	if err := s.daemon.launch(); err != nil {
		return nil
	}
	for i, brain := range s.brains {
		err := s.checkBrain(context.Background(), s.daemon.URL(), i)
		if _, refused := errors.AsType[*client.Error](err); err != nil && !refused {
			return fmt.Errorf("%s: %w", brain, err)
		}
	}
	return nil
}

// fillDisk fills the disk, and lets the clients work with it.
func fillDisk(s *site, _ int) (err error) {
	if s.free, err = fill(s.folder); err == nil {
		s.rest()
	}
	return err
}

// freeDisk makes room. In every second round, the daemon first starts on the full disk.
func freeDisk(s *site, round int) error {
	var err error
	if round%2 == 1 && s.home != "" {
		err = s.startRefused()
		s.crash()
	}
	return errors.Join(err, s.free())
}
