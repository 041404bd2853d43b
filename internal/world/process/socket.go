//go:build linux

package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// errClosed is returned if there is no such socket, or no process has it open.
var errClosed = errors.New("it was closed before its process was found")

// The layout of request and answer: struct inet_diag_req_v2 and struct inet_diag_msg of
// linux/inet_diag.h, each behind a netlink header.
const (
	diagHeader     = 16
	diagRequest    = 56
	diagAnswer     = 72
	diagInodeAt    = diagHeader + 68
	diagNoCookie   = 0xffffffff
	diagReplyLimit = 4096
)

// inode asks the kernel for the inode of the TCP socket between two addresses of this machine.
func inode(local, remote netip.AddrPort) (uint32, error) {
	if !local.Addr().Unmap().Is4() || !remote.Addr().Unmap().Is4() {
		return 0, fmt.Errorf("%s and %s are not both IPv4", local, remote)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("open a SOCK_DIAG socket: %w", err)
	}
	defer unix.Close(fd)
	ask := make([]byte, diagHeader+diagRequest)
	native := binary.NativeEndian
	native.PutUint32(ask[0:], uint32(len(ask)))
	native.PutUint16(ask[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	r := ask[diagHeader:]
	r[0], r[1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(r[4:], 0xffffffff) // in any state
	id := r[8:]
	binary.BigEndian.PutUint16(id[0:], local.Port())
	binary.BigEndian.PutUint16(id[2:], remote.Port())
	from, to := local.Addr().Unmap().As4(), remote.Addr().Unmap().As4()
	copy(id[4:], from[:])
	copy(id[20:], to[:])
	native.PutUint32(id[40:], diagNoCookie)
	native.PutUint32(id[44:], diagNoCookie)
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("send to SOCK_DIAG: %w", err)
	}
	// The answer is there when Sendto returns.
	answer := make([]byte, diagReplyLimit)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
	if err != nil {
		return 0, fmt.Errorf("receive from SOCK_DIAG: %w", err)
	}
	return readInode(answer[:n])
}

// readInode reads the answer, which is a socket or an error number.
func readInode(answer []byte) (uint32, error) {
	if len(answer) < diagHeader+4 {
		return 0, fmt.Errorf("SOCK_DIAG answered %d bytes", len(answer))
	}
	switch kind := binary.NativeEndian.Uint16(answer[4:]); {
	case kind == unix.NLMSG_ERROR:
		err := syscall.Errno(-int32(binary.NativeEndian.Uint32(answer[diagHeader:])))
		if err == unix.ENOENT {
			return 0, errClosed
		}
		return 0, fmt.Errorf("SOCK_DIAG: %w", err)
	case kind != unix.SOCK_DIAG_BY_FAMILY || len(answer) < diagHeader+diagAnswer:
		return 0, fmt.Errorf("SOCK_DIAG answered %d bytes of type %d", len(answer), kind)
	}
	found := binary.NativeEndian.Uint32(answer[diagInodeAt:])
	if found == 0 { // the connection has no owner any more
		return 0, errClosed
	}
	return found, nil
}

// Ready looks up a connection of its own, and returns why that does not work here.
func (o *Owners) Ready() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), &stat) }); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	got, err := inode(addrPort(c.LocalAddr()), addrPort(c.RemoteAddr()))
	if err == nil && uint64(got) != stat.Ino {
		err = fmt.Errorf("SOCK_DIAG returned inode %d for socket %d", got, stat.Ino)
	}
	return err
}

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }
