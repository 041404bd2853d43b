package trial

// Observer receives the events of a running trial, from several goroutines at once. An
// observer that needs only some of them embeds [NoObserver].
type Observer interface {
	// Episode is called when an episode begins. The first one is 1.
	Episode(n int)
	// Enough reports whether the trial ends with this episode. It is called after each
	// episode except the last, when the history so far is in its file.
	Enough(episode int) bool
	// Granted is called when a client is granted the lock.
	Granted()
	// Fault describes what a fault does to servers and clients.
	Fault(text string)
	// Warning describes, once, a mistake of a client that the lock's author should know at once.
	Warning(text string)
	// Notes lists at the end the mistakes of clients that are not in the history, if any.
	Notes(notes []string)
}

// NoObserver ignores all events and never ends a trial early.
type NoObserver struct{}

var _ Observer = NoObserver{}

func (NoObserver) Episode(int)     {}
func (NoObserver) Enough(int) bool { return false }
func (NoObserver) Granted()        {}
func (NoObserver) Fault(string)    {}
func (NoObserver) Warning(string)  {}
func (NoObserver) Notes([]string)  {}
