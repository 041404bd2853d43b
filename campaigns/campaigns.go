// Package campaigns has the campaigns that lockbench brings along, one YAML file each, for lockbench matrix --file NAME.
package campaigns

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var embedded embed.FS

// Names returns the names of the campaigns, in alphabetical order.
func Names() []string {
	names, err := fs.Glob(embedded, "*.yaml")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".yaml")
	}
	return names
}

// Find returns the text of a campaign.
func Find(name string) (text []byte, ok bool) {
	text, err := embedded.ReadFile(name + ".yaml")
	return text, err == nil
}
