package models

import "github.com/anishathalye/porcupine"

// Mutex is a lock without owners, the one that Knossos judges by: whoever releases it
// sets it free. So A acquires, B releases, C acquires is legal here and nowhere else.
func Mutex(Params) porcupine.Model {
	return model(false, func(locked bool, c Call, a Answer) (bool, bool) {
		switch c.Kind {
		case Acquire:
			switch a.Outcome {
			case OK:
				return !locked, true
			case Refused:
				return locked, locked
			case Unknown:
				return true, true
			}
		case Release:
			switch a.Outcome {
			case OK:
				return locked, false
			case Refused:
				return !locked, locked
			case Unknown:
				return true, false
			}
		case Expire:
			return true, false
		}
		return true, locked
	}, func(locked bool) string {
		if locked {
			return "held"
		}
		return "free"
	})
}
