package mongo

import (
	"errors"
	"net"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
)

// iterationsMin is the least number of iterations that RFC 7677 allows.
const iterationsMin = 4096

// stepsMax bounds a login: two messages of each side, and an empty one that older servers want.
const stepsMax = 4

// logIn logs lockbench in as a user of the database admin, by SCRAM-SHA-256. Without a user it does nothing.
func logIn(c net.Conn, as service.Credentials) error {
	if as.User == "" {
		return nil
	}
	client, err := scram.SHA256.NewClient(as.User, as.Password, "")
	if err != nil {
		return err
	}
	proof := client.WithMinIterations(iterationsMin).NewConversation()
	ask := question("admin", "saslStart", 1, bson.M{"mechanism": "SCRAM-SHA-256", "options": bson.M{"skipEmptyExchange": true}})
	var answer struct {
		ID      int32  `bson:"conversationId"`
		Payload []byte `bson:"payload"`
		Done    bool   `bson:"done"`
	}
	for range stepsMax {
		text := ""
		if !proof.Done() {
			if text, err = proof.Step(string(answer.Payload)); err != nil {
				return err
			}
		}
		if answer.Done && proof.Valid() {
			return nil
		}
		err = exchange(c, append(ask, bson.E{Key: "payload", Value: []byte(text)}), 1, &answer)
		if no := (*refusal)(nil); errors.As(err, &no) && no.Code == codeNoSuchLogin {
			return &service.LoginError{Said: no.Text}
		}
		if err != nil {
			return err
		}
		ask = question("admin", "saslContinue", 1, bson.M{"conversationId": answer.ID})
	}
	return errors.New("it does not end the login")
}
