// Package pythonguest embeds guest.py.
package pythonguest

import _ "embed" // the guest

// Source is guest.py.
//
//go:embed guest.py
var Source string
