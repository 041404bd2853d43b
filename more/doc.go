// Package more holds tests of lockbench that need client libraries which lockbench itself
// does not use: whoever writes a lock with one of them must get through its greetings in
// the simulation. It is a module of its own, so that those libraries are no dependency of
// lockbench's. There is nothing in it to import.
//
//	cd more && go test ./...
package more
