package mongo

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"golang.org/x/text/secure/precis"

	"lockbench/service"
)

// Login is TLS, and SCRAM-SHA-256 of a user of the database admin. A client may begin on the
// connection as on any other: that a server knows who it is, is no part of how clients begin.
func (Service) Login(ctx context.Context, plain net.Conn, how service.Access) (net.Conn, error) {
	c, err := how.Secure(ctx, plain)
	if err != nil || how.User == "" {
		return c, err
	}
	err = prove(how.Credentials, rand.Text(), func(question document) (map[string]any, error) {
		return exchange(ctx, c, question, 1)
	})
	if no := (*refusal)(nil); errors.As(err, &no) && no.code == codeNoSuchLogin {
		err = &service.LoginError{Said: no.text}
	}
	return c, err
}

// Bounds of how often a server lets the password be hashed. Less is refused by RFC 7677, and more
// is a server that means ill.
const (
	roundsMin = 4096
	roundsMax = 1_000_000
)

// prove has the conversation of RFC 5802, with the hash of RFC 7677. Both sides prove that they
// know the password, and neither says it.
func prove(who service.Credentials, nonce string, ask func(document) (map[string]any, error)) error {
	escaped := strings.NewReplacer("=", "=3D", ",", "=2C").Replace(who.User)
	begin := "n=" + escaped + ",r=" + nonce
	said, err := ask(document{
		{"saslStart", int32(1)}, {"mechanism", "SCRAM-SHA-256"}, {"payload", []byte("n,," + begin)},
		{"options", document{{"skipEmptyExchange", true}}}, {"$db", "admin"},
	})
	if err != nil {
		return err
	}
	first := payload(said)
	asked := fieldsOf(first)
	salt, err := base64.StdEncoding.DecodeString(asked["s"])
	rounds, notNumber := strconv.Atoi(asked["i"])
	if err != nil || notNumber != nil || len(salt) == 0 || rounds < roundsMin || rounds > roundsMax ||
		!strings.HasPrefix(asked["r"], nonce) || asked["r"] == nonce {
		return fmt.Errorf("it asks for a proof as no server does: %.80q", first)
	}
	// Passwords are prepared alike on both sides, or compared as they are.
	password, err := precis.OpaqueString.String(who.Password)
	if err != nil {
		password = who.Password
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return err
	}
	end := "c=biws,r=" + asked["r"] // biws is n,, in base64: nothing is bound to TLS
	all := []byte(begin + "," + first + "," + end)
	clientKey := signed(salted, []byte("Client Key"))
	stored := sha256.Sum256(clientKey)
	proof := signed(stored[:], all)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	next := func(text string) error {
		said, err = ask(document{
			{"saslContinue", int32(1)}, {"conversationId", said["conversationId"]}, {"payload", []byte(text)}, {"$db", "admin"},
		})
		return err
	}
	if err := next(end + ",p=" + base64.StdEncoding.EncodeToString(proof)); err != nil {
		return err
	}
	server, err := base64.StdEncoding.DecodeString(fieldsOf(payload(said))["v"])
	if err != nil || !hmac.Equal(server, signed(signed(salted, []byte("Server Key")), all)) {
		return errors.New("it lets anybody in, and does not know the password: it is another server")
	}
	if said["done"] == false { // it wants an empty word before it ends
		if err := next(""); err != nil {
			return err
		}
	}
	if said["done"] != true {
		return errors.New("it does not end the login")
	}
	return nil
}

func signed(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// payload is what an answer carries of the conversation.
func payload(said map[string]any) string {
	b, _ := said["payload"].([]byte)
	return string(b)
}

// fieldsOf are those of a message, by their letters.
func fieldsOf(message string) map[string]string {
	all := map[string]string{}
	for f := range strings.SplitSeq(message, ",") {
		name, value, _ := strings.Cut(f, "=")
		all[name] = value
	}
	return all
}
