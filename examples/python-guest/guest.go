// Package pythonguest has the guest beside it for programs that carry it along.
package pythonguest

import _ "embed" // the guest

// Source is guest.py.
//
//go:embed guest.py
var Source string
