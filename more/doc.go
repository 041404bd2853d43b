// Package more holds what needs client libraries which lockbench itself does not use: stock
// lock libraries as guests (package libraries, served by the command lockbench-more), and
// tests that the handshakes of other client libraries work in the simulation. It is a module
// of its own, so that those libraries are no dependency of lockbench's. There is nothing in this package to import.
//
//	cd more && go test ./...
package more
