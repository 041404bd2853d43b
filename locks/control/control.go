// Package control has the locks whose verdict is known beforehand. They test the
// harness, not a lock service: no-lock must always be caught, in-process and flock
// must always pass. A run in which one of them does otherwise says nothing about
// the other locks in it.
//
// [NoLock] is also the smallest lock that there is, and so the place to start
// reading from when writing one of your own.
package control
