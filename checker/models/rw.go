package models

import "github.com/anishathalye/porcupine"

// RW is a lock that is held by any number of readers or by one writer, and by whatever
// other sessions the owner of that writer has.
func RW(p Params) porcupine.Model { return owned(p.Reentrant) }
