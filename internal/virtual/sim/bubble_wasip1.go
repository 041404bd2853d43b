package sim

// bubble calls f in the time of the WASM host. Go's runtime has one thread here and asks for time
// to pass only when no goroutine can run, so a host that passes no other time provides virtual time
// without testing/synctest. The nightly cross-check of the simulation uses this; see package trial.
func bubble(f func() error) error { return f() }
