//go:build !linux

package claim

// unmount does nothing, because lockbench mounts file systems on Linux only.
func unmount(string) {}
