// Package unsynced is a file system that forgets what was not synced, for the data of a server that loses its power.
//
// Killing a process loses nothing that it has written, because the kernel keeps it. A [Disk] is a FUSE mount that
// keeps two states, the current one, which programs see, and the durable one, which is what a power loss leaves.
// [Disk.Lose] replaces the current state by the durable one.
//
//	write, truncate, fallocate    current only
//	fsync, fdatasync, msync       the contents and the size of the file become durable, with all that was written to it
//	O_SYNC, O_DSYNC               the same after each write
//	create, rename, link, unlink  current only; fsync of the folder makes its entries durable
//
// This is the strict reading of POSIX, [world.NamesLost]: fsync of a new file does not make its name durable, and a rename
// is durable only after fsync of the folder. Known file systems are kinder: fsync of a new file on ext4 keeps its
// name, too. With [world.NamesKept], each create, rename and unlink is durable at once, and only contents need a sync.
// A file whose name is durable and which was never synced is empty after a loss. Modes, owners, times and symbolic
// links are durable with the name.
//
// Nothing unsynced survives, however old it is. A kernel writes old pages to the disk by itself after some seconds,
// and a disk may keep any part of the rest, in any order; a Disk does neither. [Disk.Settle] makes everything durable,
// as time does. sync(2), syncfs(2) and sync_file_range(2) have no effect: the kernel does not forward them to FUSE.
//
// The contents of files are in a folder of the machine's own file system, one file for each inode, so a full disk is
// seen by programs as ENOSPC. Names and the overwritten parts of unsynced files are in memory.
package unsynced
