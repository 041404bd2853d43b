package servers

var all map[string]func(words []string)
