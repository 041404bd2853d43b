//go:build linux

package unsynced

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lockbench/internal/world"
)

// Disk is a mounted file system that forgets.
type Disk struct {
	point  string   // where it is mounted, in its namespace of mounts
	folder string   // the same as this process finds it
	space  *os.File // the namespace; nil: that of this process
	others bool     // other users may use it
	tree   *tree
	losses int // so far

	mu     sync.Mutex
	now    *mounted
	server *fuse.Server
}

// Mount mounts a new and empty disk at a folder. The contents of its files are in the folder objects, which must
// exist. Others says whether other users than the current one may use it.
func Mount(folder, objects string, others bool) (*Disk, error) {
	d := &Disk{point: folder, folder: folder, others: others, tree: ownTree(objects)}
	if err := d.mount(); err != nil {
		return nil, err
	}
	return d, nil
}

// MountIn is Mount at a folder as a process of a container sees it, for all users there. The machine does not see the
// mount, and it ends with the container at the latest.
func MountIn(pid int, folder, objects string) (*Disk, error) {
	if err := ReadyIn(); err != nil {
		return nil, err
	}
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return nil, fmt.Errorf("find the mounts of a container: %w", err)
	}
	d := &Disk{point: folder, folder: fmt.Sprintf("/proc/%d/root%s", pid, folder), space: space, others: true, tree: ownTree(objects)}
	if err := d.mount(); err != nil {
		return nil, errors.Join(err, space.Close())
	}
	return d, nil
}

func ownTree(objects string) *tree {
	return newTree(objects, uint32(os.Geteuid()), uint32(os.Getegid()))
}

// inSpace calls f in the namespace of the mount.
func (d *Disk) inSpace(f func() error) error {
	if d.space == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		// Never unlocked, so that the thread ends with this goroutine and nothing else runs in the namespace.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS) // threads that share a root cannot change their namespace
		if err == nil {
			err = unix.Setns(int(d.space.Fd()), unix.CLONE_NEWNS)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// mount mounts the tree.
func (d *Disk) mount() error {
	if err := Ready(); err != nil {
		return err
	}
	o := &fuse.MountOptions{FsName: "lockbench", Name: "lockbench", DisableXAttrs: true, DisableReadDirPlus: true, MaxWrite: maxWrite,
		Options: []string{"default_permissions"}, AllowOther: d.others}
	at := d.folder
	if mayMount() {
		fd, err := d.mountDirectly()
		if err != nil {
			return fmt.Errorf("mount %s: %w", d.folder, err)
		}
		at = "/dev/fd/" + strconv.Itoa(fd)
	}
	now := newMounted(d.tree)
	server, err := fuse.NewServer(now, at, o)
	if err != nil {
		return fmt.Errorf("mount %s: %w", d.folder, errors.Join(err, d.unmount()))
	}
	go server.Serve()
	d.now, d.server = now, server
	if err := errors.Join(server.WaitMount(), dropPoll(d.folder)); err != nil {
		return fmt.Errorf("mount %s: %w", d.folder, errors.Join(err, d.unmount()))
	}
	return nil
}

// maxWrite is the largest request, which mount and go-fuse must agree on.
const maxWrite = 128 << 10

// mountDirectly mounts without fusermount3. A child process must not inherit the connection, because requests of a
// server would then wait forever for a lockbench that has ended. go-fuse does not prevent that.
func (d *Disk) mountDirectly() (fd int, err error) {
	if fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return -1, err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,max_read=%d,default_permissions", fd, os.Geteuid(), os.Getegid(), maxWrite)
	if d.others {
		options += ",allow_other"
	}
	err = d.inSpace(func() error {
		return unix.Mount("lockbench", d.point, "fuse.lockbench", unix.MS_NOSUID|unix.MS_NODEV, options)
	})
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// dropPoll lets the kernel learn that files here cannot be polled. Otherwise the Go runtime asks when it opens one,
// and holds a processor meanwhile that serving the request may need. go-fuse answers for this name by itself.
func dropPoll(folder string) error {
	fd, err := unix.Open(filepath.Join(folder, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err
}

// unmount ends the mount. The kernel writes its dirty pages first. A mount that a process still uses is detached.
func (d *Disk) unmount() error {
	if mayMount() {
		return d.inSpace(func() error {
			err := unix.Unmount(d.point, 0)
			if errors.Is(err, unix.EBUSY) {
				err = unix.Unmount(d.point, unix.MNT_DETACH)
			}
			return err
		})
	}
	if exec.Command("fusermount3", "-u", d.folder).Run() == nil {
		return nil
	}
	out, err := exec.Command("fusermount3", "-u", "-z", d.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fusermount3: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Settle makes everything durable, as it is on a machine that has run for a while. It does nothing on nil.
func (d *Disk) Settle() {
	if d != nil {
		d.tree.settle()
	}
}

// Lose forgets what is not durable. No server may run on the disk. A process that has a file of it open gets errors
// from now on.
func (d *Disk) Lose(names world.Names) (Lost, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.unmount()
	if err != nil {
		return Lost{}, fmt.Errorf("unmount %s: %w", d.folder, err)
	}
	d.now.lose()
	lost, err := d.tree.lose(names)
	if err == nil {
		err = d.mount()
	}
	if err != nil {
		return lost, fmt.Errorf("lose the power of %s: %w", d.folder, err)
	}
	return lost, nil
}

// Close unmounts the disk.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.unmount()
	d.now.lose()
	if d.space != nil {
		_ = d.space.Close()
	}
	if errors.Is(err, unix.EINVAL) {
		return nil // it is not mounted
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.folder, err)
	}
	return nil
}

// mayMount reports whether this process may mount without fusermount3.
func mayMount() bool { return os.Geteuid() == 0 }

// Ready returns why a disk cannot be mounted on this machine, and what to install.
func Ready() error { return ready("/dev/fuse", exec.LookPath) }

// ReadyIn returns why a disk cannot be mounted in a container of this machine, and what to do.
func ReadyIn() error {
	if !mayMount() {
		return errors.New("power loss in containers needs the right to mount there: run lockbench as root, or use --world local")
	}
	return Ready()
}

func ready(device string, look func(string) (string, error)) error {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("power loss needs FUSE, and there is no %s: modprobe fuse, or in a container docker run --device /dev/fuse", device)
	case err != nil:
		return fmt.Errorf("power loss needs FUSE, and this user may not open %s (%w): chmod 666 %[1]s, or in a container docker run --device /dev/fuse", device, err)
	}
	_ = unix.Close(fd)
	if mayMount() {
		if !hasSysAdmin() {
			return errors.New("power loss needs the right to mount, which root does not have here: docker run --cap-add SYS_ADMIN")
		}
		return nil
	}
	if _, err := look("fusermount3"); err != nil {
		return errors.New("power loss needs fusermount3: apt-get install fuse3, or run lockbench as root")
	}
	return nil
}

// hasSysAdmin reports whether this process may mount.
func hasSysAdmin() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
