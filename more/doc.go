// Package more holds everything that needs client libraries which lockbench itself does not use: stock lock libraries as
// guests (package libraries, served by the command lockbench-more), and tests of the handshakes of other client libraries
// in the simulation. It is a module of its own, so that lockbench does not depend on those libraries. This package is empty.
//
//	cd more && go test ./...
package more
