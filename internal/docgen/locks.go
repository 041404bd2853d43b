package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/locks/catalog"
)

// lockRows has a row for each lock of the catalog that is not a library.
func lockRows() (string, error) {
	var rows [][]string
	for _, l := range catalog.All() {
		if l.Library != nil {
			continue
		}
		claims, err := claimsOf(l.Claims)
		if err != nil {
			return "", err
		}
		rows = append(rows, []string{"`" + l.Name + "`", runsOn(l), l.About, claims})
	}
	return table([]string{"lock", "runs on", "", "claims"}, rows), nil
}

// claimsOf lists the claims of a lock by their names in the guest protocol.
func claimsOf(claims locks.Claims) (string, error) {
	text, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	var set map[string]bool
	err = json.Unmarshal(text, &set)
	return strings.Join(slices.Sorted(maps.Keys(set)), ", "), err
}

// runsOn names the service of a lock and the topologies of the service on which it runs.
func runsOn(l catalog.Lock) string {
	if l.Service == "" {
		return "no server"
	}
	name := l.Service
	if s, ok := services.Find(l.Service); ok && len(l.Topologies) == len(s.Topologies) {
		return name
	}
	var all []string
	for _, topology := range l.Topologies {
		all = append(all, string(topology))
	}
	return name + ": " + strings.Join(all, ", ")
}

// table writes a table in Markdown.
func table(head []string, rows [][]string) string {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	var b strings.Builder
	b.WriteString(line(head))
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		b.WriteString(line(r))
	}
	return b.String()
}
