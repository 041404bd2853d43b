package mutants

// Bug is a way in which a lock breaks that no lock of the catalog shows but a wrong one.
type Bug struct {
	ID     string
	Breaks string // a sentence
}

// Bugs are those, in the order of docs/bugs.md, which has the other bugs as well.
func Bugs() []Bug {
	return []Bug{
		{"R-5", "A fair lock serves others before a waiter that lives."},
		{"R-7", "A waiter that gave up stays in the queue, and keeps a free lock from those behind it."},
		{"R-8", "A waiter's time drifts while others give up, and it loses its place though it lives."},
		{"R-10", "A release fails, and the renewal goes on: nobody holds the lock, and nobody gets it."},
		{"R-13", "A renewal that renews nothing, or a re-entry that is not counted, ends a hold."},
		{"R-14", "A release that is sent again gives back a second hold."},
		{"R-15", "An acquire that was counted twice leaves a hold behind."},
		{"R-18", "A grant that no replica has confirmed is refused to its caller, and stays."},
		{"R-21", "The end of one read hold frees the lock of the others, or of the writer."},
		{"R-24", "A release wakes nobody, or somebody who is not served."},
		{"R-26", "A lock refuses the owner that holds it already, who waits for himself."},
		{"R-27", "A release that does not reach all masters leaves the lock taken."},
		{"R-29", "A lease that was converted twice is a thousand times as long."},
		{"R-30", "A waiter asks again and again without a pause."},
		{"R-32", "A lock on several names goes by the clocks of clients, and frees what is another's."},
		{"R-34", "A lock asks for a lease of its own, whatever its caller wants."},
		{"R-35", "An owner is taken for another one: by a number that is used again, or by its client alone."},
		{"C-4", "Clients write their own time into the lock, and believe that of others."},
		{"C-6", "Threads of a client share one object, and the last try's token takes the place of the holder's."},
		{"C-9", "A renewal takes back a lock that was lost, and nobody learns that others held it meanwhile."},
		{"C-10", "A release of what is not held any more says ok."},
		{"C-12", "A lease that nobody refreshes is taken for one that is renewed."},
		{"C-15", "A client holds and is told that it does not."},
		{"C-16", "A majority lock does not look how long the granting took."},
		{"C-17", "A majority lock's client library sends again what was not answered, and the second answer is not about the first."},
		{"C-19", "A row is locked until a time of its owner's clock, and others compare that with theirs."},
		{"Z-5", "A writer goes on as a reader, and another writer is let in."},
		{"W-1", "Somebody looks whether the lock is free, and then takes it, in two requests."},
		{"W-2", "Somebody takes the lock whether it is free or not, and finds it his own."},
		{"W-3", "Clients that mean one lock name two."},
		{"W-4", "A client takes a holder for dead because it was refused a few times."},
		{"W-5", "A client takes itself for the holder because it was one lately."},
		{"W-6", "Who was refused cleans up, and frees the lock of who holds."},
		{"W-7", "Who is refused renews the lease that it met."},
		{"W-8", "The server is asked for less than the holder counts on."},
		{"W-9", "Seconds are taken for milliseconds."},
		{"W-10", "A holder is not told when its lease ends."},
		{"W-11", "A lease is counted from the answer and not from the request."},
		{"W-12", "A release says ok and frees nothing."},
		{"W-13", "Silence is taken for a grant."},
		{"W-14", "Silence is taken for a refusal."},
		{"W-15", "Numbers of grants are not counted where the lock is granted."},
		{"W-16", "Less than a majority is enough."},
		{"W-17", "Masters that do not answer are left out of the count, or counted as granting."},
		{"W-18", "A failed try for a majority is not given back."},
		{"W-19", "Clients ask masters of their own, and each has a majority of other ones."},
		{"W-20", "A queue serves the last first."},
		{"W-21", "A reader and a writer hold at once, or two writers."},
		{"W-22", "Who goes on as a reader keeps readers out."},
		{"W-23", "A lock on several names guards only one, or a name of its own."},
		{"W-24", "A renewal does not ask whose the lock is."},
		{"W-25", "A lock is taken over by a reading that is old by then."},
	}
}
