package service

import (
	"context"
	"errors"
)

// Nobody is the group of locks that need no server.
type Nobody struct{}

// errNobody is what is said of a leader where there is no server.
var errNobody = errors.New("there are no servers")

func (Nobody) Nodes() []Node                          { return nil }
func (Nobody) Topology() Topology                     { return None }
func (Nobody) Leader(context.Context) (string, error) { return "", errNobody }
func (Nobody) Leaders(context.Context) []string       { return nil }
func (Nobody) Healthy(context.Context) error          { return nil }
