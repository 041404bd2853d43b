// Package claim locks files and temporary directories for as long as a process lives. The kernel releases the lock
// however the process ends, so the next process can tell the remains of a killed one from the files of a live one.
package claim
