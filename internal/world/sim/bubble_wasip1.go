package sim

// bubble calls f, in the time that whoever runs this program gives it. Go's runtime has one
// thread here, and asks for the time to pass only when no goroutine can run: if the host
// lets no time pass otherwise, that is virtual time, without testing/synctest. That is how
// the nightly cross-check of the simulation runs it; see package trial.
func bubble(f func() error) error { return f() }
