package service

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Setting is a setting of a server. A scenario may give it a value unless Decided is set.
type Setting struct {
	Name, About string
	// Values are the words that servers accept, or [Number] alone. Other values are not checked.
	Values []string
	// Decided is why lockbench itself decides the value.
	Decided string
}

// Number stands for all whole numbers in [Setting.Values].
const Number = "number"

var numeral = regexp.MustCompile(`^[+-]?[0-9]+$`)

// Accepts reports whether servers accept the form of a value. A number may still be out of range.
func (s Setting) Accepts(value string) bool {
	switch {
	case len(s.Values) == 0:
		return true
	case s.Values[0] == Number:
		return numeral.MatchString(value)
	}
	return slices.Contains(s.Values, value)
}

// ReadSettings reads settings from a text in the program. Each line has a name, perhaps its values, and its meaning. A word
// after "!" refers to the reason why lockbench decides the value, which an earlier line gives:
//
//	!where lockbench decides where servers listen
//	port !where the port
//	max-connections <number> the most connections at a time
//	fsync <on,off> whether writes are forced to the disk
func ReadSettings(text string) (all []Setting) {
	reasons := map[string]string{}
	for line := range strings.Lines(text) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "!") {
			reasons[name] = about
			continue
		}
		s := Setting{Name: name, About: about}
		if values, rest, ok := strings.Cut(strings.TrimPrefix(about, "<"), "> "); ok && about[0] == '<' {
			s.Values, s.About = strings.Split(values, ","), rest
		}
		if strings.HasPrefix(about, "!") {
			var reason string
			reason, s.About, _ = strings.Cut(about, " ")
			if s.Decided = reasons[reason]; s.Decided == "" {
				panic(fmt.Sprintf("setting %s: no line gives the reason %s", name, reason))
			}
		}
		all = append(all, s)
	}
	return all
}
