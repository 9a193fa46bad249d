package bench

import (
	"math"
	"testing"
	"time"

	"evalctl/harness/launch"
)

// A process that keeps a processor busy has used the seconds of a block, although looks at it span
// less.
func TestSampler(t *testing.T) {
	const block = 1500 * time.Millisecond
	for _, blocks := range []int{1, 3} {
		s := newSampler(block, blocks)
		for at := -150 * time.Millisecond; at < time.Duration(blocks)*block; at += sampleEvery {
			s.look(at, launch.Usage{CPU: time.Hour + at, RSS: int64(at), OpenFiles: 3})
		}
		for i, u := range s.used {
			if u == nil || math.Abs(u.CPUSeconds-1.5) > 1e-6 || u.RSSBytes <= int64(i)*int64(block) || u.OpenFiles != 3 {
				t.Errorf("block %d of %d: %+v", i, blocks, u)
			}
		}
	}
}

// When a process of several ends, its time is missing from then on.
func TestSamplerOfEndedProcess(t *testing.T) {
	s := newSampler(time.Second, 2)
	for at := time.Duration(0); at < 2*time.Second; at += sampleEvery {
		cpu := 2 * at
		if at > 500*time.Millisecond {
			cpu = at
		}
		s.look(at, launch.Usage{CPU: cpu})
	}
	if a, b := s.used[0].CPUSeconds, s.used[1].CPUSeconds; a < 1 || a > 1.5 || math.Abs(b-1) > 1e-6 {
		t.Errorf("%v and %v", a, b)
	}
}

// A single look says nothing of the time that a block used.
func TestSamplerOfOneLook(t *testing.T) {
	s := newSampler(time.Second, 1)
	s.look(-time.Millisecond, launch.Usage{})
	s.look(time.Millisecond, launch.Usage{})
	if s.used[0] != nil {
		t.Errorf("%+v", s.used[0])
	}
}
