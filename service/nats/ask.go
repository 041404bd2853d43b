package nats

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/service"
)

// The accounts of a server, and the only user of each.
const (
	clients   = "clients"
	operators = "operators"
)

// info is the description that a server sends to a new connection.
type info struct {
	ID           string `json:"server_id"`
	Name         string `json:"server_name"`
	Version      string `json:"version"`
	Cluster      string `json:"cluster"` // empty: it is alone
	JetStream    bool   `json:"jetstream"`
	TLSRequired  bool   `json:"tls_required"`
	TLSAvailable bool   `json:"tls_available"`
	Client       uint64 `json:"client_id"` // the number of the connection
}

// login is the part of CONNECT that identifies the user. Nil: there is none.
type login map[string]any

// as returns the login of an account's only user.
func as(account string) login { return login{"user": account, "pass": account} }

// loginOf returns the login with a user and a password, or with a password alone, which is a token.
func loginOf(as service.Credentials) login {
	switch {
	case as.User != "":
		return login{"user": as.User, "pass": as.Password}
	case as.Password != "":
		return login{"auth_token": as.Password}
	}
	return nil
}

// talk is a connection in the protocol of clients. A request is a message to a subject, and the answer
// is a message to a subject that the request names:
//
//	◀ INFO {...}
//	▶ CONNECT {...}  SUB answer 1  PUB question answer 2  {}
//	◀ MSG answer 1 17  {"cluster": ...}
type talk struct {
	conn net.Conn
	read *bufio.Reader
	info info
}

// meet reads the identity of the server and logs in.
func meet(c net.Conn, who login) (*talk, error) {
	t := &talk{conn: c, read: bufio.NewReader(c)}
	if _, err := t.hearInfo(); err != nil {
		return nil, err
	}
	return t, t.connect(who)
}

// hearInfo reads the identity of the server.
func (t *talk) hearInfo() (said string, err error) {
	line, err := t.line()
	if err != nil {
		return "", err
	}
	said, ok := strings.CutPrefix(line, greeting)
	if !ok {
		return "", fmt.Errorf("it greets with %.80q", line)
	}
	return said, json.Unmarshal([]byte(said), &t.info)
}

// connect logs in.
func (t *talk) connect(who login) error {
	all := login{
		"verbose": false, "pedantic": false, "protocol": 0, "headers": true, "no_responders": true,
		"name": "lockbench", "lang": "go", "version": "1",
	}
	maps.Copy(all, who)
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return t.say("CONNECT " + string(text))
}

// inbox returns a subject to which only this connection subscribes: servers of a cluster deliver a
// message to all subscribers.
func (t *talk) inbox() string { return fmt.Sprintf("_INBOX.%s.%d", t.info.ID, t.info.Client) }

func (t *talk) say(lines ...string) error {
	_, err := io.WriteString(t.conn, strings.Join(lines, "\r\n")+"\r\n")
	return err
}

func (t *talk) line() (string, error) {
	line, err := t.read.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// errNoResponders ends a request on a subject without subscribers.
var errNoResponders = errors.New("no server answers this request now")

// hear returns the next message, or nil for the answer to a PING.
func (t *talk) hear() ([]byte, error) {
	for {
		line, err := t.line()
		if err != nil {
			return nil, err
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "PING":
			if err := t.say("PONG"); err != nil {
				return nil, err
			}
		case "PONG":
			return nil, nil
		case "-ERR":
			return nil, errors.New(strings.Trim(strings.TrimPrefix(line, "-ERR "), "'"))
		case "MSG", "HMSG":
			return t.message(words)
		}
	}
}

// message reads a message after its announcement, which is MSG subject sid [reply] size, or HMSG
// subject sid [reply] headers size.
func (t *talk) message(words []string) ([]byte, error) {
	size, err := strconv.Atoi(words[len(words)-1])
	head := 0
	if err == nil && words[0] == "HMSG" {
		head, err = strconv.Atoi(words[len(words)-2])
	}
	if err != nil || head < 0 || size < head || size > 64<<20 {
		return nil, fmt.Errorf("it sends a message of the size %q", words)
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(t.read, body); err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(body[:head]), "NATS/1.0 503") {
		return nil, errNoResponders
	}
	return body[head:size], nil
}

// refusal is an error that a server answered.
type refusal struct {
	Code        int    `json:"code"`
	Reason      int    `json:"err_code"`
	Description string `json:"description"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (%d)", r.Description, r.Code) }

// ask sends a request and reads its answer.
func (t *talk) ask(subject string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	inbox := t.inbox()
	if err := t.say("SUB "+inbox+" 1", fmt.Sprintf("PUB %s %s %d", subject, inbox, len(body)), string(body)); err != nil {
		return err
	}
	said, err := t.hear()
	if err != nil {
		return err
	}
	var failed struct {
		Error *refusal `json:"error"`
	}
	if err := json.Unmarshal(said, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return failed.Error
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(said, answer)
}

// with connects to a node past all faults and logs in.
func (g *servers) with(ctx context.Context, node string, who login, do func(*talk) error) error {
	return g.within(ctx, service.AskLimit, node, who, do)
}

func (g *servers) within(ctx context.Context, limit time.Duration, node string, who login, do func(*talk) error) error {
	return g.Ask(ctx, node, limit, func(ctx context.Context, c net.Conn) error {
		t, err := meet(c, who)
		if err != nil {
			return err
		}
		return do(t)
	})
}

// monitor sends a request to one server itself.
func (g *servers) monitor(ctx context.Context, node, what string, question, answer any) error {
	return g.with(ctx, node, as(operators), func(t *talk) error {
		said := struct {
			Data any `json:"data"`
		}{answer}
		if err := t.ask("$SYS.REQ.SERVER."+t.info.ID+"."+what, question, &said); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// Answers sends a request that a server answers alone.
func (g *servers) Answers(ctx context.Context, node string) error {
	return g.with(ctx, node, g.who, func(t *talk) error { return t.ping() })
}

func (t *talk) ping() error {
	if err := t.say("PING"); err != nil {
		return err
	}
	_, err := t.hear()
	return err
}

// Identity returns the ID of the server behind a connection, which changes with a restart.
func (g *servers) Identity(ctx context.Context, c net.Conn) (id string, err error) {
	err = service.Interrupt(ctx, c, func() error {
		t, err := meet(c, g.who)
		if err != nil {
			return err
		}
		id = t.info.ID
		return t.ping()
	})
	return id, err
}

// carried is the part of a load in one message.
const carried = 32 << 10

// Greet sends the load as messages that the same connection receives.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	return service.Interrupt(ctx, c, func() error { return greet(c, g.who, load) })
}

func greet(c net.Conn, who login, load int) error {
	t, err := meet(c, who)
	if err != nil {
		return err
	}
	if load == 0 {
		return t.ping()
	}
	subject := t.inbox()
	wrote := make(chan error, 1)
	go func() {
		err := t.say("SUB " + subject + " 1")
		for left := load; left > 0 && err == nil; left -= carried {
			size := min(left, carried)
			err = t.say(fmt.Sprintf("PUB %s %d", subject, size), string(slices.Repeat([]byte("x"), size)))
		}
		wrote <- err
	}()
	for left := load; left > 0; left -= carried {
		if _, err := t.hear(); err != nil {
			return err
		}
	}
	return <-wrote
}
