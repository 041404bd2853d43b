// Package process is the part of the real worlds that runs on this machine: servers
// and lock clients as child processes, which the kernel ends with the harness, and
// their logs.
//
// A [Process] is paused and killed with all that it has started. [Owners] tells which of
// them has opened a connection, by asking the kernel.
//
// A world gives its [Clients] a [Net], which says by what addresses a client finds
// the lock service so that faults on its links concern it alone.
package process
