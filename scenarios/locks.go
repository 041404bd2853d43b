package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
)

// LockUse is one lock of a run, with its settings.
type LockUse struct {
	Name    string // the displayed name: "redlock-3", "set-nx/ttl=2s"
	Use     string // the catalog's name; empty for a Command
	Command string // of an external guest, for the shell
	// Module is the file of an external WASM guest, and Sum its SHA-256, if known.
	Module  string            `json:",omitempty"`
	Args    []string          `json:",omitempty"` // of the module
	Sum     string            `json:",omitempty"`
	Options map[string]string // the lock's own options, for the catalog

	// Settings that override those of the scenario.
	TTL     *time.Duration `yaml:"ttl" about:"its own lease"`
	Wait    *time.Duration `yaml:"wait" about:"its own wait"`
	Hold    *nemesis.Range `yaml:"hold" about:"its own hold"`
	Clients int            `yaml:"clients" about:"its own number of clients"`
	Nodes   int            `yaml:"nodes" about:"how many independent masters it gets; for majority locks only"`

	// Named reports that the command line names the lock. The run then fails if the lock cannot take part.
	Named bool `json:"-"`
}

// Own reports whether the lock is an external guest. Its properties are known only when it runs.
func (u LockUse) Own() bool { return u.Command != "" || u.Module != "" }

// Called returns the lock with a displayed name, such as set-nx/ttl=2s, without its settings.
func Called(name string) LockUse {
	plain, _, _ := strings.Cut(name, "/")
	return LockUse{Name: name, Use: plain}
}

// Entry returns the lock's entry in the catalog. A guest of the user has none.
func (u LockUse) Entry() (catalog.Lock, bool) { return catalog.Find(u.Use) }

// Control reports whether the lock is a control of the catalog.
func (u LockUse) Control() bool {
	entry, _ := u.Entry()
	return entry.Control()
}

// Mutant reports whether the lock is wrong on purpose.
func (u LockUse) Mutant() bool {
	entry, _ := u.Entry()
	return !u.Own() && entry.Wrong != nil
}

// ParseLocks parses the value of a flag, --locks or --lock: names with options, separated by commas, as
// `set-nx,set-nx/ttl=2s,redlock/nodes=3,py=cmd:python3 guest.py`. Commas inside quotes are part of a command. A name in
// own selects the scenario's lock with its settings.
func ParseLocks(flag, arg string, own ...LockUse) ([]LockUse, error) {
	r := lockReader{reader: newReader(flag)}
	for _, text := range splitLocks(arg) {
		r.try(func() {
			text = strings.TrimSpace(text)
			u, ok := find(own, useName, text)
			if !ok {
				u = r.lockWord(word{text: text}, "locks")
			}
			u.Named = true
			r.use(u, position{})
		})
	}
	return r.uses, joined(r.errs)
}

// ParseLock parses one lock in the same way. where is the flag or the command, for errors.
func ParseLock(where, arg string, own ...LockUse) (LockUse, error) {
	uses, err := ParseLocks(where, arg, own...)
	if err != nil {
		return LockUse{}, err
	}
	if len(uses) != 1 {
		return LockUse{}, &Error{File: where, Text: fmt.Sprintf("one lock is wanted, and %q names %d", arg, len(uses))}
	}
	return uses[0], nil
}

// splitLocks splits at commas outside quotes.
func splitLocks(arg string) []string {
	var parts []string
	start, quote := 0, rune(0)
	for i, c := range arg {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '\'' || c == '"') && ownGuest.MatchString(arg[start:i]):
			quote = c
		case c == ',':
			parts = append(parts, arg[start:i])
			start = i + 1
		}
	}
	return append(parts, arg[start:])
}

// ownGuest matches an external guest, such as `py=cmd:python3 guest.py` or `mine=wasm:./guest.wasm`.
var ownGuest = regexp.MustCompile(`^([^/=,]*)=(?:cmd|wasm):((?s).*)$`)

// shownName matches valid names for locks: they appear in tables, folders and lists of locks.
var shownName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// lockNameMax limits the length of a lock's name with its options, in bytes, for tables, folders and command lines.
const lockNameMax = 200

// lockReader reads locks.
type lockReader struct {
	*reader
	uses []LockUse
}

// locks reads `locks:`.
func (r *lockReader) locks(e pair) []LockUse {
	items := r.items(e, "a lock", "[no-lock, set-nx]")
	if len(items) == 0 {
		r.fail(positionOf(e.value), "name at least one", "the list of locks is empty")
	}
	r.each(items, func(item pair) {
		var u LockUse
		if isMap(item.value) {
			u = r.lockMap(item)
		} else {
			u = r.lockWord(r.text(item), item.path)
		}
		r.use(u, positionOf(item.value))
	})
	return r.uses
}

// use appends a lock. Names must be different.
func (r *lockReader) use(u LockUse, at position) {
	if len(u.Name) > lockNameMax {
		r.fail(at, "give it a shorter name: {use: ..., as: NAME}", "the name of a lock is too long: %d letters, at most %d", len(u.Name), lockNameMax)
	} else if _, twice := find(r.uses, useName, u.Name); twice {
		r.fail(at, "give one of them another name: {use: ..., as: NAME}", "two locks are named %q", u.Name)
	}
	r.uses = append(r.uses, u)
}

// lockWord reads `set-nx/ttl=2s` and `py=cmd:python3 guest.py`.
func (r *lockReader) lockWord(w word, path string) LockUse {
	if found := ownGuest.FindStringSubmatch(w.text); found != nil {
		return r.guest(word{found[1], w.at}, word{found[2], w.at}, strings.HasPrefix(w.text, found[1]+"=wasm:"))
	}
	name, options, _ := strings.Cut(w.text, "/")
	u := LockUse{Name: w.text, Use: name}
	r.lockName(name, w.at)
	var list pairs
	if name != w.text {
		for option := range strings.SplitSeq(options, "/") {
			key, value, ok := strings.Cut(option, "=")
			switch {
			case !ok:
				r.fail(w.at, "options are written /NAME=VALUE", "%q is not an option of a lock", option)
			case list.has(key):
				r.fail(w.at, "", "%q is given twice", key)
			default:
				list = append(list, pair{key: word{key, w.at}, path: join(path, key), part: &word{value, w.at}})
			}
		}
	}
	r.lockSettings(&u, list, w.at, path)
	return u
}

// lockMap reads `{use: redlock, as: redlock-3, nodes: 3}` and `{cmd: ..., as: py}`.
func (r *lockReader) lockMap(item pair) LockUse {
	list := r.pairs(item.value, item.path, "a lock")
	words := map[string]word{}
	r.each(list, func(e pair) { words[e.key.text] = r.text(e) })
	use, cmd, as := words["use"], words["cmd"], words["as"]
	u := LockUse{Name: use.text, Use: use.text}
	switch {
	case list.has("use") && list.has("cmd"):
		r.fail(cmd.at, "keep one of them", "a lock is either a lock of lockbench (`use`) or a command (`cmd`)")
	case list.has("use"):
		r.lockName(use.text, use.at)
	case !list.has("cmd"):
		r.fail(positionOf(item.value), "as {use: redlock, nodes: 3}", "this names no lock: `use` is missing")
	case !list.has("as"):
		r.fail(cmd.at, "as {cmd: python3 guest.py, as: py}", "a command needs a name")
	default:
		u = r.guest(as, cmd, false)
	}
	list = slices.DeleteFunc(list, func(e pair) bool { return slices.Contains([]string{"use", "cmd", "as"}, e.key.text) })
	for _, e := range list {
		u.Name += "/" + e.key.text + "=" + words[e.key.text].text
	}
	if _, named := words["as"]; named {
		u.Name = as.text
		r.shownName(as.text, u.Use, as.at)
	}
	r.lockSettings(&u, list, positionOf(item.value), item.path)
	return u
}

// lockSettings reads the settings of a lock. The catalog checks options of its locks; options of guests are not checked.
func (r *lockReader) lockSettings(u *LockUse, list pairs, at position, path string) {
	lock, _ := u.Entry()
	if list.has("nodes") && !u.Own() && lock.Family != locks.Majority {
		r.fail(list.get("nodes").key.at, "", "nodes is for locks on independent masters, but %s is not one", u.Use)
	}
	own := names(lock.Options(), optionName)
	r.fields(list, u, func(e pair) {
		if !u.Own() && !slices.Contains(own, e.key.text) {
			r.unknown(e.key, slices.Concat(own, keysOf(u)), "%s has no option %q", u.Use, e.key.text)
		}
		r.option(e, &u.Options)
	})
	if u.Own() {
		return
	}
	if _, err := lock.New(u.Options); err != nil && !errors.Is(err, locks.ErrUnsupported) {
		r.checked(path, at, err)
	}
}

func (r *lockReader) lockName(name string, at position) {
	if _, ok := (LockUse{Use: name}).Entry(); !ok {
		r.unknown(word{name, at}, sorted(catalog.All(), lockName), "no lock is named %q", name)
	}
}

// shownName checks the displayed name of a lock. It must not be the name of another catalog lock.
func (r *lockReader) shownName(name, use string, at position) {
	if !shownName.MatchString(name) {
		r.fail(at, "letters, digits and . _ -", "%q cannot be a lock's name", name)
	}
	if _, taken := (LockUse{Use: name}).Entry(); taken && name != use {
		r.fail(at, "choose another one", "%q is the name of another lock", name)
	}
}

// guest reads an external guest: a command for the shell, or the file of a WASM module if module is set or the name ends
// in .wasm.
func (r *lockReader) guest(name, run word, module bool) LockUse {
	r.shownName(name.text, "", name.at)
	text := strings.TrimSpace(run.text)
	if text == "" {
		r.fail(run.at, "as py=cmd:python3 guest.py or mine=wasm:./guest.wasm", "the command or module of the lock is missing")
	}
	if module || strings.HasSuffix(text, ".wasm") && !strings.ContainsAny(text, " \t'\"") {
		return LockUse{Name: name.text, Module: text}
	}
	return LockUse{Name: name.text, Command: text}
}
