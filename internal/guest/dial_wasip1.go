package guest

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// dialer dials through the host, because package net cannot connect on wasip1.
func (a StoreAddresses) dialer() (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, ok := a.AddrMap[addr]; ok {
			addr = to
		}
		conn, err := dialHost(ctx, addr)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
		}
		return conn, nil
	}, nil
}

// dialHost opens a connection as a file of the host and waits until it is established.
func dialHost(ctx context.Context, addr string) (net.Conn, error) {
	tcp, err := openSocket(addr)
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		_ = tcp.SetWriteDeadline(at)
	}
	stop := context.AfterFunc(ctx, func() { _ = tcp.SetWriteDeadline(time.Unix(1, 0)) })
	err = connected(tcp)
	if !stop() && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	_ = tcp.SetWriteDeadline(time.Time{})
	return hostConn{tcp, address(addr)}, nil
}

// openSocket starts a connection. It does not use os.OpenFile, because package net rejects its files on wasip1.
func openSocket(addr string) (*net.TCPConn, error) {
	fd, err := syscall.Open("/net/"+addr, syscall.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), addr)
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(syscall.ENOTSOCK, conn.Close())
	}
	return tcp, nil
}

// connected waits until the connection is established or has failed, which an empty write reports.
func connected(tcp *net.TCPConn) error {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var state error
	err = raw.Write(func(fd uintptr) bool {
		_, state = syscall.Write(int(fd), nil)
		return state != syscall.EAGAIN
	})
	if err != nil {
		return err
	}
	return state
}

// hostConn adds the addresses, which the connection of a file does not have.
type hostConn struct {
	*net.TCPConn
	remote address
}

func (c hostConn) RemoteAddr() net.Addr { return c.remote }
func (c hostConn) LocalAddr() net.Addr  { return address("0.0.0.0:0") }

// address is the HOST:PORT that was dialled.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
