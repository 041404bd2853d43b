package catalog

import (
	"lockbench/locks"
	"lockbench/service/mongo"
)

// mongoFindAndModify is the lock that people make of a document of MongoDB, by its Go client.
func mongoFindAndModify() Lock {
	return Lock{
		Card:    locks.Card{Name: "mongo-find-and-modify", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}},
		About:   "a document by findAndModify with upsert, with an end by the client's clock and a number of grants",
		Service: mongo.Name, Topologies: []locks.Topology{locks.Single}, Plain: true, WritesTime: true,
		Options: []Option{
			{Name: "expiry", About: "off: the naive form, whose documents have no end", Default: "on"},
			{Name: "limit", About: "how long one request may take", Default: "5s"},
		},
		Library: &Library{
			Version: "go.mongodb.org/mongo-driver/v2 v2.10.0",
			Says:    "FindOneAndUpdate executes a findAndModify command to update at most one document in the collection; it speaks of no lock",
			Where:   "mongo/collection.go, Collection.FindOneAndUpdate", Real: true,
		},
	}
}
