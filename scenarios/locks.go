package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
)

// LockUse is one lock of a run, with its settings.
type LockUse struct {
	Name    string // as shown: "redlock-3", "set-nx/ttl=2s"
	Use     string // the catalog's name; empty for a Command
	Command string // a guest of somebody's own, for the shell
	// Module is the file of a guest of somebody's own that is a module of WebAssembly, and
	// Sum its SHA-256, once somebody has looked.
	Module  string            `json:",omitempty"`
	Args    []string          `json:",omitempty"` // of the module
	Sum     string            `json:",omitempty"`
	Options map[string]string // the lock's own options, for the catalog

	// What any lock may be given for itself; nil or 0: as the scenario says.
	TTL     *time.Duration `yaml:"ttl" about:"its own lease"`
	Wait    *time.Duration `yaml:"wait" about:"its own wait"`
	Hold    *nemesis.Range `yaml:"hold" about:"its own hold"`
	Clients int            `yaml:"clients" about:"its own number of clients"`
	Nodes   int            `yaml:"nodes" about:"how many independent masters it gets; for majority locks alone"`

	// Named says that somebody asked for this very lock: a run in which it took no part
	// has not done what was asked.
	Named bool `json:"-"`
}

// Own says whether the lock is a guest of somebody's own, of which nothing is known until
// it is met.
func (u LockUse) Own() bool { return u.Command != "" || u.Module != "" }

// guest is a lock of one's own by what starts it: a command, or a module, which is known by
// the end of its name.
func guest(name, command string) LockUse {
	command = strings.TrimSpace(command)
	if strings.HasSuffix(command, moduleSuffix) && !strings.ContainsAny(command, " \t'\"") {
		return LockUse{Name: name, Module: command}
	}
	return LockUse{Name: name, Command: command}
}

// moduleSuffix is how the name of a module's file ends.
const moduleSuffix = ".wasm"

// ParseLocks reads the value of --locks: names with options, separated by commas,
// as `set-nx,set-nx/ttl=2s,redlock/nodes=3,py=cmd:python3 guest.py`. In a command,
// commas between quotes belong to it. A name by which a scenario calls one of its own
// locks, handed in as own, is that lock with what the scenario gave it.
func ParseLocks(arg string, own ...LockUse) ([]LockUse, error) {
	return parseLocks("--locks", arg, own)
}

// ParseLock reads the value of --lock in the same way.
func ParseLock(arg string, own ...LockUse) ([]LockUse, error) {
	return parseLocks("--lock", arg, own)
}

func parseLocks(flag, arg string, own []LockUse) ([]LockUse, error) {
	r, whole := argument(flag, arg)
	for _, w := range splitLocks(whole) {
		w = w.trimmed()
		u, ok := find(own, useName, w.text)
		if !ok {
			u, ok = r.lockWord(w, "locks")
		}
		u.Named = true
		r.use(u, ok, w.at)
	}
	if err := asError(r.errs); err != nil {
		return nil, err
	}
	return r.uses, nil
}

// argument is a reader of one flag's value.
func argument(flag, value string) (*reader, word) {
	return newReader(flag, value), word{text: value, at: place{1, 1, utf8.RuneCountInString(value)}, exact: true}
}

// splitLocks splits at commas, but not inside the quotes of a command.
func splitLocks(w word) []word {
	var parts []word
	start, quote := 0, byte(0)
	for i := 0; i < len(w.text); i++ {
		switch c := w.text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '\'' || c == '"') && ownCommand.MatchString(w.text[start:i]):
			quote = c
		case c == ',':
			parts = append(parts, w.part(start, i))
			start = i + 1
		}
	}
	return append(parts, w.part(start, len(w.text)))
}

// ownCommand is how a lock of one's own begins: `py=cmd:`, and ownModule how one that is
// a module does.
var (
	ownCommand = regexp.MustCompile(`^\s*[^/=,]*=cmd:`)
	ownModule  = regexp.MustCompile(`^\s*[^/=,]*=wasm:`)
)

// shownName is what a name given with `as` or before `=cmd:` may be: it stands in
// tables, in folders and between the commas of --locks.
var shownName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// lockNameMax bounds the name of a lock with its options, in bytes. Tables, folders and commands
// of a shell have it in them.
const lockNameMax = 200

// locks reads `locks:`.
func (r *reader) locks(e entry) []LockUse {
	items, ok := r.items(e, "a lock", "[no-lock, set-nx]")
	if ok && len(items) == 0 {
		r.fail(r.place(e.value), "name at least one", "the list of locks is empty")
	}
	r.bad[e.path] = !ok
	for _, item := range items {
		at := r.place(item.value)
		// Rules find the place of the i-th lock that was read under this path.
		item.path = fmt.Sprintf("%s/%d", e.path, len(r.uses))
		r.where[item.path] = at
		var u LockUse
		if isMap(item.value) {
			u, ok = r.lockMap(item)
		} else if w, isText := r.text(item); isText {
			u, ok = r.lockWord(w, item.path)
		} else {
			ok = false
		}
		r.use(u, ok, at)
		r.bad[e.path] = r.bad[e.path] || !ok
	}
	return r.uses
}

// use notes a lock that was read without an error, under a name of its own.
func (r *reader) use(u LockUse, ok bool, at place) {
	if ok && len(u.Name) > lockNameMax {
		r.fail(at, "give it a shorter name: {use: ..., as: NAME}", "the name of a lock is too long: %d letters, at most %d", len(u.Name), lockNameMax)
	} else if _, twice := find(r.uses, useName, u.Name); ok && twice {
		r.fail(at, "give one of them another name: {use: ..., as: NAME}", "two locks are named %q", u.Name)
	} else if ok {
		r.uses = append(r.uses, u)
	}
}

// lockWord reads `set-nx/ttl=2s` and `py=cmd:python3 guest.py`.
func (r *reader) lockWord(w word, path string) (u LockUse, ok bool) {
	if ownCommand.MatchString(w.text) {
		name, command, _ := w.cut("=cmd:")
		return guest(name.text, command.text), r.shownName(name, "") && r.command(command)
	}
	if ownModule.MatchString(w.text) {
		name, file, _ := w.cut("=wasm:")
		u = LockUse{Name: name.text, Module: strings.TrimSpace(file.text)}
		return u, r.shownName(name, "") && r.module(file)
	}
	parts := w.split("/")
	u = LockUse{Name: w.text, Use: parts[0].text}
	if !r.lockName(parts[0]) {
		return u, false
	}
	before := len(r.errs)
	var list entries
	for _, part := range parts[1:] {
		key, value, ok := part.cut("=")
		switch {
		case !ok:
			r.fail(part.at, "options are written /NAME=VALUE", "%q is no option of a lock", part.text)
		case list.has(key.text):
			r.fail(key.at, "", "%q is given twice", key.text)
		default:
			list = append(list, entry{key: key, path: join(path, key.text), part: &value})
			r.where[join(path, key.text)] = value.at
		}
	}
	ok = r.lockSettings(&u, list, w.at, path)
	return u, ok && len(r.errs) == before
}

// lockMap reads `{use: redlock, as: redlock-3, nodes: 3}` and `{cmd: ..., as: py}`.
func (r *reader) lockMap(item entry) (u LockUse, ok bool) {
	before := len(r.errs)
	list, _ := r.entries(item.value, item.path, "a lock")
	words := map[string]word{}
	for _, e := range list {
		words[e.key.text], _ = r.text(e)
	}
	if len(r.errs) > before {
		return u, false
	}
	use, cmd, as := words["use"], words["cmd"], words["as"]
	switch {
	case list.has("use") && list.has("cmd"):
		r.fail(cmd.at, "keep one of them", "a lock is either one of lockbench's (`use`) or a command of one's own (`cmd`)")
	case list.has("use"):
		r.lockName(use)
	case !list.has("cmd"):
		r.fail(r.place(item.value), "as {use: redlock, nodes: 3}", "this names no lock: `use` is missing")
	case !list.has("as"):
		r.fail(cmd.at, "as {cmd: python3 guest.py, as: py}", "a command needs a name")
	default:
		r.command(cmd)
	}
	if len(r.errs) > before {
		return u, false
	}
	u = LockUse{Name: use.text, Use: use.text}
	if list.has("cmd") {
		u = guest("", cmd.text)
	}
	ok = !list.has("as") || r.shownName(as, u.Use)
	list = slices.DeleteFunc(list, func(e entry) bool { return slices.Contains([]string{"use", "cmd", "as"}, e.key.text) })
	for _, e := range list {
		u.Name += "/" + e.key.text + "=" + words[e.key.text].text
	}
	if as.text != "" {
		u.Name = as.text
	}
	return u, r.lockSettings(&u, list, r.place(item.value), item.path) && ok
}

// lockSettings reads what a lock is given, and asks the catalog about its own options.
func (r *reader) lockSettings(u *LockUse, list entries, at place, path string) bool {
	before := len(r.errs)
	lock, _ := catalog.Find(u.Use)
	foreign := u.Own() // what it takes, only it knows
	if list.has("nodes") && !foreign && lock.Family != locks.Majority {
		r.fail(list.of("nodes").key.at, "", "nodes is for locks on independent masters, and %s is none", u.Use)
		return false
	}
	own := names(lock.Options, optionName)
	r.fields(list, u, func(e entry) {
		if !foreign && !slices.Contains(own, e.key.text) {
			r.unknown(e.key, slices.Concat(own, keysOf(u)), "options", "%s has no option %q", u.Use, e.key.text)
			return
		}
		r.option(e, &u.Options)
	})
	if foreign || len(r.errs) > before {
		return len(r.errs) == before
	}
	if _, err := lock.New(u.Options); err != nil && (lock.Library == nil || !errors.Is(err, locks.ErrUnsupported)) {
		r.checked(path, at, err)
		return false
	}
	return true
}

func (r *reader) lockName(w word) bool {
	_, ok := catalog.Find(w.text)
	switch locks := sorted(catalog.All(), lockName); {
	case ok:
	case w.text == "":
		r.fail(w.at, "locks: "+strings.Join(locks, ", "), "a lock's name is missing")
	default:
		r.unknown(w, locks, "locks", "no lock is named %q", w.text)
	}
	return ok
}

// shownName tells whether a lock may be shown under a name: not under that of
// another lock, which would put the blame on it.
func (r *reader) shownName(w word, use string) bool {
	_, taken := catalog.Find(w.text)
	switch {
	case !shownName.MatchString(w.text):
		r.fail(w.at, "letters, digits and . _ -", "%q cannot be a lock's name", w.text)
	case taken && w.text != use:
		r.fail(w.at, "choose another one", "%q is the name of another lock", w.text)
	default:
		return true
	}
	return false
}

func (r *reader) module(w word) bool {
	if strings.TrimSpace(w.text) == "" {
		r.fail(w.at, "as mine=wasm:./guest.wasm", "the module's file is missing")
		return false
	}
	return true
}

func (r *reader) command(w word) bool {
	if strings.TrimSpace(w.text) == "" {
		r.fail(w.at, "as py=cmd:python3 guest.py", "the command is missing")
		return false
	}
	return true
}
