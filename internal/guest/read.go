package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// quotedBytesMax is the length to which messages shorten a quoted line.
const quotedBytesMax = 300

// untilBeyond is how much a lease may exceed the requested one. Some services have minimum leases of seconds; a point in
// time is far beyond.
const untilBeyond = time.Minute

// read is the only goroutine that reads the guest's output. It continues after a broken protocol, so that the guest does
// not block in a write.
func (c *Conn) read(l *lines) {
	defer close(c.ended)
	for {
		line, cut, err := l.next()
		if err != nil {
			c.mu.Lock()
			closing := c.closing
			c.mu.Unlock()
			switch {
			case closing:
				err = errors.New("it was closed")
			case errors.Is(err, io.EOF):
				err = errors.New("its output ended")
			default:
				err = fmt.Errorf("read from it: %w", err)
			}
			c.fail(err)
			return
		}
		if cut {
			c.noise.stray("long", line, fmt.Sprintf("the guest wrote a line of more than %d bytes; it was skipped. "+
				"Standard output belongs to the protocol: print to standard error instead", lineBytesMax))
			continue
		}
		c.take(line)
	}
}

// take handles one line: hello, answer, notice or noise.
func (c *Conn) take(line []byte) {
	var m struct {
		Answer
		Hello *string `json:"hello"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		if m.ID == 0 {
			c.noise.stray("text", line, "the guest wrote a line that is not part of the protocol. "+
				"Standard output belongs to the protocol: print to standard error instead")
			return
		}
		// A call waits for the answer to this request.
		c.settle(m.ID, line, "the guest's answer cannot be read: "+plain(err), Answer{})
		return
	}
	a := m.Answer
	switch {
	case m.Hello != nil:
		c.takeHello(line)
	case a.Notice == NoticeLost && a.ID == 0 && a.Session != "":
		c.o.Lost(a.Session)
	case a.Notice == NoticeQueued && a.ID == 0 && a.Session != "":
		c.o.Queued(c.o.Mask.Text(a.Session))
	case a.Notice != "":
		c.noise.stray("notice", line, fmt.Sprintf("the guest sent an invalid notice: a notice is "+
			`{"notice":%q,"session":...} or has %q instead, without an id`, NoticeLost, NoticeQueued))
	case a.ID == 0:
		c.noise.stray("text", line, "the guest wrote an object without an id, which answers nothing. "+
			"An answer repeats its request's id; logs go to standard error")
	default:
		c.settle(a.ID, line, ruleBroken(a), a)
	}
}

// ruleBroken returns a message if the answer alone breaks a rule, or "".
func ruleBroken(a Answer) string {
	outcomes := 0
	for _, set := range []bool{a.OK, a.Done, a.Fail != "", a.Unknown != ""} {
		if set {
			outcomes++
		}
	}
	switch {
	case outcomes != 1:
		return fmt.Sprintf("the guest's answer has %d outcomes; an answer has exactly one of ok, done, fail and unknown", outcomes)
	case a.Lease < 0:
		return "the guest's answer has a negative lease_ns; leave it out if there is none"
	case a.Period < 0 || a.Period > a.Lease:
		return "the guest's answer has a period_ns that is not between 0 and lease_ns; leave it out if it is unknown"
	}
	return ""
}

// settle passes an answer to the call that waits for it. If the answer breaks a rule, it counts as noise, and the outcome
// of the call is unknown.
func (c *Conn) settle(id int64, line []byte, broken string, a Answer) {
	c.mu.Lock()
	p, waits := c.pending[id]
	late := c.late[id]
	delete(c.pending, id)
	delete(c.late, id)
	c.mu.Unlock()
	switch {
	case late:
		return
	case !waits:
		c.noise.stray("id", line, fmt.Sprintf("the guest answered request %d, which no call waits for: it was never sent, "+
			"or answered before. Answer each request once, with its own id", id))
		return
	case broken != "":
		c.noise.stray("answer", line, broken)
		a = Answer{ID: id, Unknown: broken + ": " + quoted(c.noise.masked(line))}
	case a.Until != nil && *a.Until < 0:
		// The outcome stays: an allowance for drift can exceed a short lease.
		c.noise.stray("until", line, fmt.Sprintf("the guest reports a lease that ended %v before it read the request; until_ns is relative: "+
			"it counts from the moment when the guest has read the request", -time.Duration(*a.Until)))
	case a.Until != nil && p.asked > 0 && time.Duration(*a.Until) > p.asked+p.wait+untilBeyond:
		c.noise.stray("until", line, fmt.Sprintf("the guest reports a lease of %.0f s for a request of %v s; until_ns is relative: "+
			"it counts from the moment when the guest has read the request", time.Duration(*a.Until).Seconds(), p.asked.Seconds()))
	}
	p.answer <- a
}

// takeHello handles the first hello. A guest with another version of the protocol cannot be used.
func (c *Conn) takeHello(line []byte) {
	select {
	case <-c.helloed:
		c.noise.stray("hello", line, "the guest sent two hellos; only the first counts")
		return
	default:
	}
	h, err := readHello(line, func(line []byte) string { return quoted(c.noise.masked(line)) })
	switch {
	case errors.Is(err, errNoHello):
		c.noise.stray("text", line, "the guest wrote a line that is not part of the protocol. "+
			"Standard output belongs to the protocol: print to standard error instead")
		return
	case err != nil:
		c.fail(c.o.Mask.Error(err))
		return
	}
	for _, text := range []*string{&h.Name, &h.Version, &h.Unknown} {
		*text = c.o.Mask.Text(*text)
	}
	c.mu.Lock()
	c.hello = h
	c.mu.Unlock()
	close(c.helloed)
}

// errNoHello is the error for a line that is not a hello of any version.
var errNoHello = errors.New("its first line is not a hello")

// ReadHello parses the first line of a guest.
func ReadHello(line []byte) (Hello, error) { return readHello(line, quoted) }

// readHello is ReadHello with a function that quotes the line in errors.
func readHello(line []byte, quoted func([]byte) string) (Hello, error) {
	var h Hello
	err := json.Unmarshal(line, &h)
	switch {
	case !strings.HasPrefix(h.Hello, "lockbench-guest/"):
		return h, fmt.Errorf("%w: %s", errNoHello, quoted(line))
	case h.Hello != ProtocolVersion:
		return h, fmt.Errorf("its protocol is %q, not %q: %s", h.Hello, ProtocolVersion, quoted(line))
	case err != nil:
		return h, fmt.Errorf("its hello cannot be read: %s: %s", plain(err), quoted(line))
	}
	// Unknown fields are not an error, but its author should know about them.
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(Hello)); err != nil {
		h.Unknown = strings.TrimPrefix(err.Error(), "json: ")
	}
	return h, nil
}

// plain explains an error of package json without names of Go.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	takes := "another kind of value"
	switch wrong.Type.Kind() {
	case reflect.Bool:
		takes = "true or false"
	case reflect.String:
		takes = "a text"
	case reflect.Int64, reflect.Int:
		takes = "a whole number"
	case reflect.Uint64:
		takes = "a whole number from 0"
	case reflect.Slice:
		takes = "a list"
	case reflect.Struct, reflect.Map:
		takes = "an object"
	}
	return fmt.Sprintf("%s takes %s, not this %s", strings.TrimPrefix(wrong.Field, "Answer."), takes, wrong.Value)
}

func quoted(line []byte) string { return fmt.Sprintf("%q", clip(line)) }

func clip(line []byte) string {
	if len(line) > quotedBytesMax {
		return string(line[:quotedBytesMax]) + "..."
	}
	return string(line)
}
