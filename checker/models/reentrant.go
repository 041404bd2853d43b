package models

import "github.com/anishathalye/porcupine"

// Reentrant is a lock that its owner may enter again. Each entry is a session that is
// released by itself, and others are kept out until none of them holds.
func Reentrant(Params) porcupine.Model { return owned(true) }
