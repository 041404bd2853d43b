package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"lockbench/nemesis"
)

// LockUse is one lock of a run, with its settings.
type LockUse struct {
	Name    string            // as shown: "redlock-3", "set-nx/ttl=2s"
	Use     string            // the catalog's name; empty for a Command
	Command string            // a guest of somebody's own, for the shell
	Options map[string]string // the lock's own options, for the catalog

	// What any lock may be given for itself; nil or 0: as the scenario says.
	TTL, Wait *time.Duration
	Hold      *nemesis.Range
	Clients   int
	Nodes     int // masters, for a majority lock
}

// anyLock are the options that every lock takes; nodes, those of the majority.
var anyLock = []string{"ttl", "wait", "hold", "clients", "nodes"}

// ParseLocks reads the value of --locks: names with options, separated by commas,
// as `set-nx,set-nx/ttl=2s,redlock/nodes=3,py=cmd:python3 guest.py`. In a command,
// commas between quotes belong to it. A name by which a scenario calls one of its own
// locks, handed in as own, is that lock with what the scenario gave it.
func ParseLocks(arg string, known Known, own ...LockUse) ([]LockUse, error) {
	r := argument("--locks", arg, known)
	var uses []LockUse
	for _, w := range splitLocks(r.whole()) {
		w = w.trimmed()
		path := fmt.Sprintf("locks/%d", len(uses))
		var u LockUse
		ok := true
		if i := slices.IndexFunc(own, func(u LockUse) bool { return u.Name == w.text }); i >= 0 {
			u = own[i]
		} else {
			u, ok = r.lockWord(w, path)
		}
		if ok && r.unique(uses, u, w.at) {
			uses = append(uses, u)
		}
	}
	if err := asError(r.errs); err != nil {
		return nil, err
	}
	return uses, nil
}

// argument is a reader of one flag's value.
func argument(flag, value string, known Known) *reader {
	return &reader{file: flag, lines: []string{value}, known: known, where: map[string]place{}, bad: map[string]bool{}}
}

// whole is the argument itself.
func (r *reader) whole() word {
	text := r.lines[0]
	return word{text: text, at: place{1, 1, utf8.RuneCountInString(text)}, exact: true}
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

// ownCommand is how a lock of one's own begins: `py=cmd:`.
var ownCommand = regexp.MustCompile(`^\s*[^/=,]*=cmd:`)

// shownName is what a name given with `as` or before `=cmd:` may be: it stands in
// tables, in folders and between the commas of --locks.
var shownName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// lockList reads `locks:`.
func (r *reader) lockList(n ast.Node) []LockUse {
	items, ok := r.items(n, "locks", "[no-lock, set-nx]")
	if ok && len(items) == 0 {
		r.fail(r.place(n), "name at least one", "the list of locks is empty")
	}
	var uses []LockUse
	r.bad["locks"] = !ok
	for _, item := range items {
		// Rules find the place of the i-th lock that was read under this path.
		path := fmt.Sprintf("locks/%d", len(uses))
		at := r.place(item)
		r.where[path] = at
		var u LockUse
		switch item.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
			u, ok = r.lockMap(item, path)
		default:
			var w word
			if w, ok = r.word(item, "a lock"); ok {
				u, ok = r.lockWord(w, path)
			}
		}
		if ok && r.unique(uses, u, at) {
			uses = append(uses, u)
		} else if !ok {
			r.bad["locks"] = true
		}
	}
	return uses
}

func (r *reader) unique(uses []LockUse, u LockUse, at place) bool {
	if slices.ContainsFunc(uses, func(other LockUse) bool { return other.Name == u.Name }) {
		r.fail(at, "give one of them another name: {use: ..., as: NAME}", "two locks are named %q", u.Name)
		return false
	}
	return true
}

// lockWord reads `set-nx/ttl=2s` and `py=cmd:python3 guest.py`.
func (r *reader) lockWord(w word, path string) (LockUse, bool) {
	if ownCommand.MatchString(w.text) {
		name, command, _ := w.cut("=cmd:")
		u := LockUse{Name: name.text, Command: strings.TrimSpace(command.text)}
		return u, r.shownName(name, "") && r.command(command)
	}
	parts := w.split("/")
	u := LockUse{Name: w.text, Use: parts[0].text}
	if !r.lockName(parts[0]) {
		return u, false
	}
	before := len(r.errs)
	seen := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, ok := part.cut("=")
		switch {
		case !ok:
			r.fail(part.at, "options are written /NAME=VALUE", "%q is no option of a lock", part.text)
		case seen[key.text]:
			r.fail(key.at, "", "%q is given twice", key.text)
		default:
			r.where[join(path, key.text)] = value.at
			r.lockOption(&u, key, value, path)
		}
		seen[key.text] = true
	}
	return u, len(r.errs) == before && r.lockChecked(u, w.at, path)
}

// lockMap reads `{use: redlock, as: redlock-3, nodes: 3}` and `{cmd: ..., as: py}`.
func (r *reader) lockMap(n ast.Node, path string) (LockUse, bool) {
	var u LockUse
	list, ok := r.entries(n, path, "a lock")
	if !ok {
		return u, false
	}
	before := len(r.errs)
	words := map[string]word{}
	for _, e := range list {
		if w, ok := r.word(e.value, e.key.text); ok {
			words[e.key.text] = w
		}
	}
	use, used := words["use"]
	cmd, commanded := words["cmd"]
	as, named := words["as"]
	switch {
	case len(r.errs) > before:
		return u, false
	case used && commanded:
		r.fail(cmd.at, "keep one of them", "a lock is either one of lockbench's (`use`) or a command of one's own (`cmd`)")
	case used && r.lockName(use):
		u.Use, u.Name = use.text, use.text
	case commanded && !named:
		r.fail(cmd.at, "as {cmd: python3 guest.py, as: py}", "a command needs a name")
	case commanded && r.command(cmd):
		u.Command = strings.TrimSpace(cmd.text)
	case !used && !commanded:
		r.fail(r.place(n), "as {use: redlock, nodes: 3}", "this names no lock: `use` is missing")
	}
	if len(r.errs) > before {
		return u, false
	}
	for _, e := range list {
		if key := e.key.text; key != "use" && key != "cmd" && key != "as" {
			r.lockOption(&u, e.key, words[key], path)
			u.Name += "/" + key + "=" + words[key].text
		}
	}
	if named && r.shownName(as, u.Use) {
		u.Name = as.text
	}
	return u, len(r.errs) == before && r.lockChecked(u, r.place(n), path)
}

func (r *reader) lockName(w word) bool {
	_, ok := r.known.Locks[w.text]
	switch {
	case ok:
	case w.text == "":
		r.fail(w.at, "locks: "+strings.Join(r.known.lockNames(), ", "), "a lock's name is missing")
	default:
		r.fail(w.at, suggest(w.text, r.known.lockNames(), "locks"), "no lock is named %q", w.text)
	}
	return ok
}

// shownName tells whether a lock may be shown under a name: not under that of
// another lock, which would put the blame on it.
func (r *reader) shownName(w word, use string) bool {
	if !shownName.MatchString(w.text) {
		r.fail(w.at, "letters, digits and . _ -", "%q cannot be a lock's name", w.text)
		return false
	}
	if _, taken := r.known.Locks[w.text]; taken && w.text != use {
		r.fail(w.at, "choose another one", "%q is the name of another lock", w.text)
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

// lockOption reads one setting of a lock.
func (r *reader) lockOption(u *LockUse, key, value word, path string) {
	path = join(path, key.text)
	var d time.Duration
	var span nemesis.Range
	own := r.known.Locks[u.Use].Options
	foreign := u.Command != "" // what it takes, only it knows
	switch key.text {
	case "ttl":
		if read(r, path, value, &d, parseDuration) {
			u.TTL = &d
		}
	case "wait":
		if read(r, path, value, &d, parseDuration) {
			u.Wait = &d
		}
	case "hold":
		if read(r, path, value, &span, parseRange) {
			u.Hold = &span
		}
	case "clients":
		read(r, path, value, &u.Clients, parseCount)
	case "nodes":
		if !foreign && r.known.Locks[u.Use].Family != Majority {
			r.fail(key.at, "", "nodes is for locks on independent masters, and %s is none", u.Use)
			return
		}
		read(r, path, value, &u.Nodes, parseCount)
	default:
		if !foreign && !slices.Contains(own, key.text) {
			r.fail(key.at, suggest(key.text, slices.Concat(own, anyLock), "options"), "%s has no option %q", u.Use, key.text)
			return
		}
		if u.Options == nil {
			u.Options = map[string]string{}
		}
		u.Options[key.text] = value.text
	}
}

// lockChecked asks the catalog about a lock's own options.
func (r *reader) lockChecked(u LockUse, at place, path string) bool {
	check := r.known.Locks[u.Use].Check
	if u.Command != "" || check == nil {
		return true
	}
	err := check(u.Options)
	if err != nil {
		r.checked(path, at, err)
	}
	return err == nil
}
