//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

// runner runs hooks and records which of them are to be undone. Faults ensure that a hook and its undo
// do not run at the same time on one target.
type runner struct {
	hooks *Hooks
	site  service.Site
	mask  *secret.Mask
	log   *process.Log
	dir   string // where a hook's output is kept while it runs
	file  string // a file with the pending undos, in case lockbench is killed; empty: none

	mu      sync.Mutex
	pending []pendingUndo
	record  owed     // of file; without a path if it cannot be kept
	claim   *os.File // the record, if it is written
}

// pendingUndo is an undo hook that must still run.
type pendingUndo struct {
	name string
	with values
}

// values are the values of placeholders.
type values map[string]string

func newRunner(o Options, mask *secret.Mask, site service.Site, log *process.Log, dir, logs string) *runner {
	r := &runner{hooks: o.Hooks, site: site, mask: mask, log: log, dir: dir}
	if logs != "" {
		r.file = filepath.Join(logs, "owed.sh")
		if path, err := filepath.Abs(r.file); err == nil {
			r.file = path
		}
		var err error
		if r.record, err = newOwed(r.file, o.Location, site); err != nil {
			log.Line(noRecord(err))
		}
	}
	return r
}

// called returns the name of a node in hooks: the one in the hooks file, the first label of its host
// name, or that of lockbench.
func (h *Hooks) called(node string, site service.Site) string {
	for name, addr := range h.Nodes {
		if site.Called[addr] == node {
			return name
		}
	}
	host, _, _ := net.SplitHostPort(site.Addrs[node])
	if first, _, _ := strings.Cut(host, "."); net.ParseIP(host) == nil && first != "localhost" {
		return first
	}
	return node
}

// node returns the values for a node.
func (r *runner) node(name string) values {
	host, port, _ := net.SplitHostPort(r.site.Addrs[name])
	return values{"node": r.hooks.called(name, r.site), "host": host, "port": port}
}

// link returns the values for a link.
func (r *runner) link(l world.Link) values {
	v := values{}
	for end, name := range map[string]string{"from": l.From, "to": l.To} {
		of := r.node(name)
		v[end], v[end+"_host"], v[end+"_port"] = of["node"], of["host"], of["port"]
	}
	return v
}

// do runs a hook whose undo must run later, even if the hook fails half-way.
func (r *runner) do(name string, with values) error {
	d := pendingUndo{kinds[name].undo, with}
	// Record it first: lockbench may be killed while the hook runs.
	err := r.update(func(pending []pendingUndo) []pendingUndo {
		if slices.ContainsFunc(pending, d.equal) {
			return pending
		}
		return append(pending, d)
	})
	if err != nil {
		return fmt.Errorf("hook %s was not run: %w", name, err)
	}
	return r.run(name, with)
}

func (d pendingUndo) equal(o pendingUndo) bool {
	return d.name == o.name && fmt.Sprint(d.with) == fmt.Sprint(o.with) // maps are printed in order
}

// undo runs the undo of a hook.
func (r *runner) undo(name string, with values) error {
	return r.runUndo(pendingUndo{kinds[name].undo, with})
}

func (r *runner) runUndo(d pendingUndo) error {
	if err := r.run(d.name, d.with); err != nil {
		return err
	}
	return r.update(func(pending []pendingUndo) []pendingUndo { return slices.DeleteFunc(pending, d.equal) })
}

// update changes the pending undos, here and in their file.
func (r *runner) update(change func([]pendingUndo) []pendingUndo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = change(r.pending)
	if err := r.save(); err != nil {
		return fmt.Errorf("write the pending undos of hooks: %w", err)
	}
	return nil
}

// save writes the file of the pending undos, or removes it. r.mu must be held.
func (r *runner) save() error {
	if r.file == "" {
		return nil
	}
	if len(r.pending) == 0 {
		if err := os.Remove(r.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if r.claim != nil {
			_ = os.Remove(r.record.path) // without the file it would be ignored
			r.release()
		}
		return nil
	}
	// The record comes first, so that a killed run has no file without a record.
	if r.record.path != "" && r.claim == nil {
		var err error
		if r.claim, err = r.record.write(); err != nil {
			r.log.Line(noRecord(err))
		}
	}
	text := "# These commands undo hooks that lockbench has run and not undone yet. The file removes itself when all of\n" +
		"# them have succeeded.\nfailed=0\n"
	for _, d := range slices.Backward(r.pending) {
		undo, err := r.hooks.Commands[d.name].filled(d.with)
		if err != nil {
			return fmt.Errorf("hook %s: %w", d.name, err)
		}
		text += "(\n" + undo + "\n)\n[ $? = 0 ] || failed=1\n" // in subshells, because one may call exit
	}
	done := []string{"rm", "-f", "--", r.file}
	if r.claim != nil {
		done = append(done, r.record.path)
	}
	text += "[ $failed = 0 ] && " + shellword.Join(done...) + "\nexit $failed\n"
	// The commands are complete, including passwords, so only the owner may read the file.
	if err := os.WriteFile(r.file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(r.file+".new", r.file)
}

// release gives up the record, which stays if undos are pending.
func (r *runner) release() {
	if r.claim != nil {
		_ = r.claim.Close()
		r.claim = nil
	}
}

// noRecord warns that the folder of records cannot be used.
func noRecord(err error) string {
	return fmt.Sprintf("if lockbench is killed while a hook is not undone, later runs will not know it: %v", err)
}

// undoAll runs all pending undos in reverse order. Its error has the commands of those that failed.
func (r *runner) undoAll() error {
	r.mu.Lock()
	todo := slices.Clone(r.pending)
	r.mu.Unlock()
	slices.Reverse(todo)
	var errs []error
	for _, d := range todo {
		if err := r.runUndo(d); err != nil {
			text, _ := r.hooks.Commands[d.name].filled(d.with)
			errs = append(errs, fmt.Errorf("undo a hook: %w; run by hand: %s", err, r.masked(text)))
		}
	}
	return errors.Join(errs...)
}

// outputMax bounds the kept output of a hook.
const outputMax = 64 << 10

// run runs a hook to its end or its limit, even if the run is cancelled: an interrupted hook would leave an
// unknown state.
func (r *runner) run(name string, with values) error {
	c := r.hooks.Commands[name]
	if c.Run == "" {
		return noHook(name)
	}
	text, err := c.filled(with)
	if err != nil {
		return fmt.Errorf("hook %s: %w", name, err)
	}
	out, err := os.CreateTemp(r.dir, "hook-")
	if err != nil {
		return fmt.Errorf("hook %s: keep its output: %w", name, err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), c.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Stdout, cmd.Stderr = out, out
	// In its own process group, so that Ctrl-C does not reach it, and the limit ends all of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	began := time.Now()
	err = cmd.Run()
	said := r.said(out)
	how := "exit code 0"
	if err != nil {
		how = err.Error()
	}
	text = r.masked(text) // it has been run
	r.log.Line(fmt.Sprintf("hook %s: %s\n%slockbench: %s after %s", name, text, said, how, time.Since(began).Round(time.Millisecond)))
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the hook %s (%s) did not end within %s and was killed; give it more time in the file of hooks, or fix it%s", name, text, c.Limit, last(said))
	}
	return fmt.Errorf("the hook %s (%s): %w%s", name, text, err, last(said))
}

// masked removes passwords from a text for logs and errors: those that lockbench knows, and those where
// commands usually have them.
func (r *runner) masked(text string) string { return secret.Command(r.mask.Text(text)) }

// said returns the output of a hook, without secrets.
func (r *runner) said(out *os.File) string {
	_, err := out.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(io.LimitReader(out, outputMax))
	if err != nil || len(text) == 0 {
		return ""
	}
	return strings.TrimRight(r.masked(string(text)), "\n") + "\n"
}

// last returns the last line of an output.
func last(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ""
	}
	return fmt.Sprintf("; it wrote last: %.200q", said[strings.LastIndexByte(said, '\n')+1:])
}
