package service

import (
	"context"
	"errors"
)

// NoServers is the group of locks that need no server.
type NoServers struct{}

var errNoServers = errors.New("there are no servers")

func (NoServers) Nodes() []Node                          { return nil }
func (NoServers) Topology() Topology                     { return None }
func (NoServers) Leader(context.Context) (string, error) { return "", errNoServers }
func (NoServers) Leaders(context.Context) []string       { return nil }
func (NoServers) Healthy(context.Context) error          { return nil }
func (NoServers) Abilities() Abilities                   { return Abilities{} }
