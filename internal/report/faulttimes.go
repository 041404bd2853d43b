package report

import (
	"lockbench/internal/history"
)

// FaultTimes are how long one step of the plan took to take effect and to heal.
type FaultTimes struct {
	Step    int      `json:"step"`               // its id in the plan
	EffectS *float64 `json:"effect_s,omitempty"` // seconds from the injection until a probe saw the effect; absent: no probe saw it
	HealedS *float64 `json:"healed_s,omitempty"` // seconds from the undo until a probe saw the effect gone; absent: no probe saw it
	Failed  string   `json:"failed,omitempty"`   // why the fault could not be injected or undone
}

// faultTimes returns the times of all faults of a history.
func faultTimes(h *history.History) []FaultTimes {
	between := func(from, to int) *float64 {
		if from < 0 || to < 0 {
			return nil
		}
		seconds := (h.Events[to].Time - h.Events[from].Time).Seconds()
		return &seconds
	}
	var all []FaultTimes
	for _, f := range h.Faults {
		all = append(all, FaultTimes{Step: f.Step, EffectS: between(f.Begins, f.Bites), HealedS: between(f.Heals, f.Healed), Failed: f.Why})
	}
	return all
}
