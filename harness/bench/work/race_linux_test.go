package work_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"go.uber.org/goleak"

	"evalctl/daemon/protocol"
	"evalctl/harness/bench/null"
	"evalctl/harness/bench/work"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/heap"
	"evalctl/internal/longtest"
)

// lane is a generator of load. run returns its rate over a turn.
type lane struct {
	name string
	run  func() float64
}

// race compares the first of some generators with the others, which take turns.
type race struct {
	lanes  []lane
	others func() time.Duration // the processor time of daemons in other processes
	rates  [][]float64          // by lane
	cpu    []time.Duration      // by lane, the daemon included
}

func newRace(others func() time.Duration, lanes ...lane) *race {
	return &race{lanes: lanes, others: others, rates: make([][]float64, len(lanes)), cpu: make([]time.Duration, len(lanes))}
}

// processors returns the processor time of this process, of those that it has waited for, and of
// daemons.
func (r *race) processors() time.Duration {
	sum := r.others()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u) // which cannot fail with these arguments
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// run has the generators take turns, in another order each time. It reports for each of the others
// the median share of its rate that the first one reached in the same iteration, and cpu-share: the
// processor time that a request of it took, the daemon's included, divided by that of the first
// one. That depends less on what else runs.
func (r *race) run(b *testing.B, turn time.Duration) {
	for first := 0; b.Loop(); first++ {
		for i := range r.lanes {
			at := (first + i) % len(r.lanes)
			before := r.processors()
			r.rates[at] = append(r.rates[at], r.lanes[at].run())
			r.cpu[at] += r.processors() - before
		}
	}
	b.ReportMetric(median(r.rates[0]), "req/s")
	each := func(i int) float64 {
		sum := 0.0
		for _, rate := range r.rates[i] {
			sum += rate * turn.Seconds()
		}
		return float64(r.cpu[i]) / sum
	}
	for i := 1; i < len(r.lanes); i++ {
		shares := make([]float64, len(r.rates[0]))
		for j := range shares {
			shares[j] = r.rates[0][j] / r.rates[i][j]
		}
		name := r.lanes[i].name
		b.ReportMetric(median(r.rates[i]), name+"-req/s")
		b.ReportMetric(median(shares), name+"-share")
		b.ReportMetric(each(i)/each(0), name+"-cpu-share")
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

const closedTurn = 3 * time.Second // of whole seconds, for wrk

// BenchmarkClosedLoop takes turns with vegeta, and with wrk where it is installed, at a null daemon
// and at the search of evalctl serve, each in a process of its own.
func BenchmarkClosedLoop(b *testing.B) {
	b.Run("null", func(b *testing.B) {
		closedRace(b, start(b, launch.Profile{Command: []string{os.Args[0], "{addr}"}, Env: []string{asNull + "=1"}, Announces: true}), "null")
	})
	b.Run("serve", func(b *testing.B) {
		d := reference(b)
		closedRace(b, d, fill(b, d.URL()))
	})
}

// asNull is a variable of the environment that makes this program a null daemon.
const asNull = "EVALCTL_TEST_NULL_DAEMON"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "watchdog" {
		_ = launch.Watchdog(os.Stdin, os.Stdout)
		return
	}
	if os.Getenv(asNull) == "" {
		longtest.Parallel(8) // most tests wait for a server that is slow or silent
		goleak.VerifyTestMain(m)
		return
	}
	d, err := null.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("evalctl: listening on", d.URL())
	select {} // until it is killed
}

func closedRace(b *testing.B, d *launch.Daemon, brain string) {
	defer heap.HoldSpare()() // as the command does
	w := requestsTo(b, d.URL(), brain, work.Search)
	search := d.URL() + target.BrainPath(brain) + "/search"
	body, _ := json.Marshal(map[string]any{"query": question, "top_k": 10, "topK": 10, "mode": protocol.ModeAuto})
	lanes := []lane{
		{"", func() float64 { return rate(b, closed(), w, closedTurn) }},
		{"vegeta", func() float64 { return attack(b, search, body) }},
	}
	if program, err := exec.LookPath("wrk"); err == nil {
		script := wrkScript(b, body)
		lanes = append(lanes, lane{"wrk", func() float64 { return wrk(b, program, script, search) }})
	} else {
		b.Log("not compared with wrk, which is not installed")
	}
	newRace(func() time.Duration { u, _ := d.Usage(); return u.CPU }, lanes...).run(b, closedTurn)
}

// attack returns the rate of vegeta as a closed loop.
func attack(b *testing.B, url string, body []byte) float64 {
	targeter := vegeta.NewStaticTargeter(vegeta.Target{
		Method: http.MethodPost, URL: url, Body: body, Header: http.Header{"Content-Type": {protocol.TypeJSON}},
	})
	n := 0
	for r := range vegeta.NewAttacker(vegeta.Workers(clients), vegeta.MaxWorkers(clients)).Attack(targeter, vegeta.Rate{}, closedTurn, "") {
		if r.Code != http.StatusOK {
			b.Fatalf("vegeta: %d %s", r.Code, r.Error)
		}
		n++
	}
	return float64(n) / closedTurn.Seconds()
}

func wrkScript(b *testing.B, body []byte) (path string) {
	path = filepath.Join(b.TempDir(), "post.lua")
	script := fmt.Sprintf("wrk.method = %q\nwrk.body = %q\nwrk.headers[%q] = %q\n", http.MethodPost, body, "Content-Type", protocol.TypeJSON)
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// wrk returns the rate of wrk.
func wrk(b *testing.B, program, script, url string) float64 {
	out, err := exec.CommandContext(b.Context(), program, "-s", script, "-c", strconv.Itoa(clients), "-t", strconv.Itoa(min(clients, runtime.NumCPU())),
		"-d", closedTurn.String(), url).CombinedOutput()
	if err != nil || strings.Contains(string(out), "Non-2xx") || strings.Contains(string(out), "Socket errors") {
		b.Fatalf("wrk: %v\n%s", err, out)
	}
	_, after, _ := strings.Cut(string(out), "Requests/sec:")
	rate, err := strconv.ParseFloat(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]), 64)
	if err != nil {
		b.Fatalf("wrk: %v\n%s", err, out)
	}
	return rate
}

// reference builds and starts the reference daemon.
func reference(b *testing.B) *launch.Daemon {
	program := filepath.Join(b.TempDir(), "evalctl")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "evalctl/cmd/evalctl").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return start(b, launch.Profile{Command: []string{program, "serve", "--addr", "{addr}"}, Announces: true})
}

func start(b *testing.B, p launch.Profile) *launch.Daemon {
	d, err := launch.Start(b.Context(), p, launch.Options{
		LogPath: filepath.Join(b.TempDir(), "daemon.log"), Watchdog: []string{os.Args[0], "watchdog"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Stop(); err != nil {
			b.Error(err)
		}
	})
	return d
}

// fill returns a new brain of synthetic documents.
func fill(b *testing.B, url string) (brain string) {
	e, err := target.NewEndpoint(url, "", "test", 8)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	filled := seed.NewBrain(e, result.Auto, "bench")
	if err := filled.Create(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := filled.Seed(b.Context(), work.Synthetic(1).Take(1000), 4); err != nil {
		b.Fatal(err)
	}
	return filled.ID()
}
