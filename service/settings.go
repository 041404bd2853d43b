package service

import (
	"fmt"
	"strings"
)

// Setting is a setting of a server. A scenario may give it a value unless Decided is set.
type Setting struct {
	Name, About string
	// Decided is why lockbench itself decides the value.
	Decided string
}

// ReadSettings reads settings from a text in the program. Each line has a name and its meaning. A word
// after "!" refers to the reason why lockbench decides the value, which an earlier line gives:
//
//	!where lockbench decides where servers listen
//	port !where the port
//	max-connections the most connections at a time
func ReadSettings(text string) (all []Setting) {
	reasons := map[string]string{}
	for line := range strings.Lines(text) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "!") {
			reasons[name] = about
			continue
		}
		s := Setting{Name: name, About: about}
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
