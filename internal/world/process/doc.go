// Package process runs servers and lock clients as child processes of this machine, with their
// logs. The kernel ends them when lockbench ends.
//
// A [Process] is paused and killed together with all processes that it has started. [Owners]
// finds the process that opened a connection.
//
// A world gives its [Clients] a [Net], which returns the addresses by which a client reaches the
// lock service, so that faults on its links concern it alone.
package process
