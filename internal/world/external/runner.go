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

	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/service"
)

// runner runs hooks, and keeps account of what they have done and not undone. Of one hook
// with one target nobody acts twice at once: faults see to that.
type runner struct {
	hooks   *Hooks
	site    service.Site
	secrets []string
	log     *process.Log // nil: there are no servers
	dir     string       // where a hook's output is kept while it runs
	owed    string       // the file that says what is owed, for who finds it after lockbench was killed; empty: nobody could read it

	mu    sync.Mutex
	debts []debt
}

// debt is what is owed: the hook that undoes what another one did.
type debt struct {
	name string
	with values
}

// values are what a hook is told.
type values map[string]string

func newRunner(o Options, site service.Site, log *process.Log, dir, logs string) *runner {
	r := &runner{hooks: o.Hooks, site: site, log: log, dir: dir}
	if logs != "" {
		r.owed = filepath.Join(logs, "owed.sh")
	}
	for _, l := range o.Logins {
		if l.Password != "" {
			r.secrets = append(r.secrets, l.Password)
		}
	}
	return r
}

func (r *runner) close() {
	if r.log != nil {
		r.log.Close()
	}
}

// called is the name by which hooks know a node: the one that their file gives it, the first
// part of its host's name, or that of lockbench.
func (h *Hooks) called(node string, site service.Site) string {
	for addr, is := range site.Called {
		if name, ok := h.nodes[addr]; ok && is == node {
			return name
		}
	}
	host, _, _ := net.SplitHostPort(site.Addrs[node])
	if first, _, _ := strings.Cut(host, "."); net.ParseIP(host) == nil && first != "localhost" {
		return first
	}
	return node
}

// node is what a hook is told of a node.
func (r *runner) node(name string) values {
	host, port, _ := net.SplitHostPort(r.site.Addrs[name])
	return values{"node": r.hooks.called(name, r.site), "host": host, "port": port}
}

// link is what a hook is told of a link.
func (r *runner) link(l world.Link) values {
	v := values{}
	for end, name := range map[string]string{"from": l.From, "to": l.To} {
		of := r.node(name)
		v[end], v[end+"_host"], v[end+"_port"] = of["node"], of["host"], of["port"]
	}
	return v
}

// owe runs a hook that is to be undone. It is, even if it fails half-way.
func (r *runner) owe(name string, with values) error {
	d := debt{kinds[name].undo, with}
	// What is done must be known before it is done: lockbench may be killed meanwhile.
	err := r.account(func(debts []debt) []debt {
		if slices.ContainsFunc(debts, d.equal) {
			return debts
		}
		return append(debts, d)
	})
	if err != nil {
		return fmt.Errorf("hook %s is not run: %w", name, err)
	}
	return r.run(name, with)
}

func (d debt) equal(o debt) bool {
	return d.name == o.name && fmt.Sprint(d.with) == fmt.Sprint(o.with) // maps are printed in order
}

// pay undoes what a hook did.
func (r *runner) pay(name string, with values) error { return r.settle(debt{kinds[name].undo, with}) }

func (r *runner) settle(d debt) error {
	if err := r.run(d.name, d.with); err != nil {
		return err
	}
	return r.account(func(debts []debt) []debt { return slices.DeleteFunc(debts, d.equal) })
}

// account changes what is owed, here and in its file.
func (r *runner) account(change func([]debt) []debt) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.debts = change(r.debts)
	if r.owed == "" {
		return nil
	}
	if len(r.debts) == 0 {
		if err := os.Remove(r.owed); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep account of what hooks have done: %w", err)
		}
		return nil
	}
	text := "# Hooks have broken this, and lockbench has not mended it yet.\n"
	for _, d := range slices.Backward(r.debts) {
		undo, err := r.hooks.commands[d.name].filled(d.with)
		if err != nil {
			return fmt.Errorf("hook %s: %w", d.name, err)
		}
		text += "(\n" + undo + "\n)\n" // one that says exit ends no other
	}
	// Commands may have passwords in them, and here they have to be whole.
	if err := os.WriteFile(r.owed+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("keep account of what hooks have done: %w", err)
	}
	if err := os.Rename(r.owed+".new", r.owed); err != nil {
		return fmt.Errorf("keep account of what hooks have done: %w", err)
	}
	return nil
}

// payAll undoes, in the reverse order, what is not undone, and says of what cannot be what a
// person has to do.
func (r *runner) payAll() error {
	r.mu.Lock()
	owed := slices.Clone(r.debts)
	r.mu.Unlock()
	slices.Reverse(owed)
	var errs []error
	for _, d := range owed {
		if err := r.settle(d); err != nil {
			text, _ := r.hooks.commands[d.name].filled(d.with)
			errs = append(errs, fmt.Errorf("undo what a hook has done: %w; do it by hand: %s", err, r.masked(text)))
		}
	}
	return errors.Join(errs...)
}

// outputMax is how much of a hook's output is kept.
const outputMax = 64 << 10

// run runs a hook to its end or its limit, whatever becomes of the run meanwhile: one that is
// cut short would leave nobody knows what.
func (r *runner) run(name string, with values) error {
	c := r.hooks.commands[name]
	if c.text == "" {
		return fmt.Errorf("there is no hook %s", name)
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
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Stdout, cmd.Stderr = out, out
	// A group of its own: Ctrl-C does not reach it, and at its limit all of it ends.
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
		return fmt.Errorf("the hook %s (%s) had not ended after %s and was ended; give it more time in the file of hooks, or mend it%s", name, text, c.limit, last(said))
	}
	return fmt.Errorf("the hook %s (%s): %w%s", name, text, err, last(said))
}

// masked is a text for logs and errors: a command or its output, without the passwords that
// lockbench knows, and without those that stand where commands usually have them.
func (r *runner) masked(text string) string {
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return withoutPasswords(text)
}

// said is what a hook has written, without secrets.
func (r *runner) said(out *os.File) string {
	_, err := out.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(io.LimitReader(out, outputMax))
	if err != nil || len(text) == 0 {
		return ""
	}
	return strings.TrimRight(r.masked(string(text)), "\n") + "\n"
}

// last is the last line of an output.
func last(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ""
	}
	return fmt.Sprintf("; it wrote last: %.200q", said[strings.LastIndexByte(said, '\n')+1:])
}
