package external

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"lockbench/internal/regular"
	"lockbench/internal/secret"
)

// The names of hooks.
const (
	hookKill    = "kill"
	hookStart   = "start"
	hookWipe    = "wipe"
	hookPause   = "pause"
	hookResume  = "resume"
	hookIsolate = "isolate"
	hookHeal    = "heal"
	hookCut     = "cut"
	hookJoin    = "join"
	hookPromote = "promote"
)

// kind describes one hook. undo names the hook that undoes it; empty: it undoes another one, or cannot be
// undone.
type kind struct {
	links bool // its placeholders are {from} and {to}; else {node}
	undo  string
}

var kinds = map[string]kind{
	hookKill: {undo: hookStart}, hookStart: {}, hookWipe: {},
	hookPause: {undo: hookResume}, hookResume: {},
	hookIsolate: {undo: hookHeal}, hookHeal: {},
	hookCut: {links: true, undo: hookJoin}, hookJoin: {links: true},
	hookPromote: {},
}

// hookLimit is the default limit of a hook.
const hookLimit = 30 * time.Second

// Hooks are the user's commands that break servers and undo that.
type Hooks struct {
	Limit time.Duration     `yaml:"limit"` // of commands without a limit
	Nodes map[string]string `yaml:"nodes"` // addresses, by the names of nodes in commands
	// Addresses maps addresses that servers announce to those at which this machine reaches them.
	Addresses map[string]string  `yaml:"addresses"`
	Commands  map[string]command `yaml:"hooks"`
}

// command is one hook: COMMAND in the file, or {run: COMMAND, limit: 10s}.
type command struct {
	Run   string        `yaml:"run"`
	Limit time.Duration `yaml:"limit"`
}

// UnmarshalYAML reads either form.
func (c *command) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&c.Run) == nil {
		return nil
	}
	type fields command
	return unmarshal((*fields)(c))
}

func (h *Hooks) has(name string) bool { return h.Commands[name].Run != "" }

// ReadHooks reads a file of hooks. Its errors are usage errors.
func ReadHooks(path string) (*Hooks, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h, err := parseHooks(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

func parseHooks(text []byte) (*Hooks, error) {
	h := &Hooks{Limit: hookLimit}
	if err := yaml.UnmarshalWithOptions(text, h, yaml.Strict()); err != nil {
		return nil, errors.New(secret.Command(yaml.FormatError(err, false, true)))
	}
	for name := range h.Nodes {
		if !plain(name) {
			return nil, fmt.Errorf("nodes: %q is not a name of letters, digits, dots, dashes, slashes and underscores", name)
		}
	}
	for from, to := range h.Addresses {
		for _, addr := range []string{from, to} {
			if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
				return nil, fmt.Errorf("addresses: %q is not a HOST:PORT", addr)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Commands)) {
		c := h.Commands[name]
		if c.Limit == 0 {
			c.Limit = h.Limit
		}
		if err := c.check(name); err != nil {
			return nil, fmt.Errorf("hooks: %s: %w", name, err)
		}
		h.Commands[name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if undo := kinds[name].undo; h.has(name) && undo != "" && !h.has(undo) {
			return nil, fmt.Errorf("hooks: %s needs the hook %s to undo it (if that happens by itself: %s: 'true')", name, undo, undo)
		}
	}
	return h, nil
}

// check checks the command of a hook.
func (c command) check(name string) error {
	k, known := kinds[name]
	switch {
	case !known:
		return fmt.Errorf("there is no such hook; known are %s", strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	case strings.TrimSpace(c.Run) == "":
		return errors.New("it is not a command")
	case c.Limit <= 0:
		return fmt.Errorf("its limit is %s, which is not above zero", c.Limit)
	}
	allowed := []string{"node", "host", "port"}
	if k.links {
		allowed = []string{"from", "from_host", "from_port", "to", "to_host", "to_port"}
	}
	for _, found := range placeholder.FindAllStringSubmatch(c.Run, -1) {
		if !slices.Contains(allowed, found[1]) {
			return fmt.Errorf("there is no placeholder {%s}; known are {%s}", found[1], strings.Join(allowed, "}, {"))
		}
	}
	return nil
}

// placeholder matches {name}. Braces of the shell have a $ before them or other characters inside.
var placeholder = regexp.MustCompile(`(?:^|[^$])\{([a-z_]+)\}`)

var plainText = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`)

// plain reports whether a text is safe in a shell command. Names that servers announce are inserted, too.
func plain(text string) bool { return plainText.MatchString(text) }

// filled returns the command with its placeholders replaced.
func (c command) filled(with map[string]string) (string, error) {
	text := c.Run
	for name, value := range with {
		if !strings.Contains(text, "{"+name+"}") {
			continue
		}
		if !plain(value) {
			return "", fmt.Errorf("{%s} is %q, which a shell might take for more than a word", name, value)
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text, nil
}
