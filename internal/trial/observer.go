package trial

import "lockbench/nemesis"

// Observer hears what happens while a trial runs, from several goroutines at once.
// Whoever wants to hear only a part of it embeds [Nobody].
type Observer interface {
	// Episode says that an episode begins. The first one is 1.
	Episode(n int)
	// Enough asks after each episode but the last, when the history so far is in its
	// file, whether the trial ends with this one.
	Enough(episode int) bool
	// Granted says that a client was granted the lock.
	Granted()
	// Fault says in words what is done to servers and clients.
	Fault(text string)
	// Warning says, once, what a client of the lock did wrong that the lock's author should know at once.
	Warning(text string)
	// Notes says at the end what the clients did wrong beside the history, if anything.
	Notes(notes []string)
	// Phase says how far a step of the plan has come.
	Phase(phase nemesis.Phase, text string)
}

// Nobody observes nothing, and never has enough.
type Nobody struct{}

var _ Observer = Nobody{}

func (Nobody) Episode(int)                 {}
func (Nobody) Enough(int) bool             { return false }
func (Nobody) Granted()                    {}
func (Nobody) Fault(string)                {}
func (Nobody) Warning(string)              {}
func (Nobody) Notes([]string)              {}
func (Nobody) Phase(nemesis.Phase, string) {}
