// Package more holds what needs client libraries which lockbench itself does not use: stock
// lock libraries as guests (package libraries, served by the command lockbench-more), and
// tests that whoever writes a lock with another client gets through its greetings in the
// simulation. It is a module of its own, so that those libraries are no dependency of
// lockbench's. There is nothing in this package to import.
//
//	cd more && go test ./...
package more
