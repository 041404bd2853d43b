package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Register is a value that is read as it was last written; before that it is 0.
func Register(p Params) porcupine.Model { return CASRegister(p) }

// CASRegister is a register that can be written on the condition of what it is.
func CASRegister(Params) porcupine.Model {
	return model(int64(0), func(value int64, c Call, a Answer) (bool, int64) {
		switch c.Kind {
		case Read:
			return a.Outcome != OK || a.Value == value, value
		case Write:
			if a.Outcome == OK || a.Outcome == Unknown {
				return true, c.Value
			}
		case CAS:
			switch fits := value == c.Old; {
			case a.Outcome == OK:
				return fits, c.Value
			case a.Outcome == Refused:
				return !fits, value
			case a.Outcome == Unknown && fits:
				return true, c.Value
			}
		}
		return true, value
	}, func(value int64) string { return fmt.Sprint(value) })
}
