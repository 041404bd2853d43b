package simredis

import (
	_ "embed" // the tables
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/proto"
)

// The tables of commands are the answers of redis-server 7.0.15 to COMMAND in the third version of the
// protocol: one command on each line, sorted, with tabs instead of line breaks. TestTables compares them
// with a real server, and rewrites them with -update.
var (
	//go:embed commands.txt
	serverText string
	//go:embed commands_sentinel.txt
	sentinelText string

	serverTable   = sync.OnceValue(func() table { return parseTable(serverText) })
	sentinelTable = sync.OnceValue(func() table { return parseTable(sentinelText) })
)

// table has the commands of a server by their names in lower case.
type table map[string]*entryOfTable

// entryOfTable has the properties of a command that a server checks before execution.
type entryOfTable struct {
	name  string // the full name, such as "client|setname"
	arity int    // the number of words with the name; negative: the minimum
	flags []string
	// first, last and step are the positions of its keys, from 1. 0 means no keys, and a negative last counts from
	// the end.
	first, last, step int
	subs              table
}

// parseTable parses a table.
func parseTable(text string) table {
	answer, err := proto.Parse(listing(text, false))
	if err != nil {
		panic(err) // impossible: the tables are in the program
	}
	return readTable(answer)
}

// readTable reads an answer to COMMAND. The elements of a command are: name, arity, flags, first key, last key, step,
// categories, tips, key specifications, subcommands.
func readTable(answer any) table {
	t := table{}
	for _, command := range answer.([]any) {
		c := command.([]any)
		e := &entryOfTable{name: c[0].(string), arity: c[1].(int), first: c[3].(int), last: c[4].(int), step: c[5].(int), subs: readTable(c[9])}
		for _, flag := range c[2].([]any) {
			e.flags = append(e.flags, flag.(string))
		}
		t[e.name[strings.LastIndex(e.name, "|")+1:]] = e
	}
	return t
}

func length(word string) int {
	n, _ := strconv.Atoi(word[1:])
	return n
}

// listing returns the answer to COMMAND.
func listing(text string, resp3 bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		for word := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
			if !resp3 && word != "" {
				switch word[0] {
				case '~':
					word = "*" + word[1:]
				case '%':
					word = fmt.Sprintf("*%d", 2*length(word))
				}
			}
			b.WriteString(word + "\r\n")
		}
	}
	return b.String()
}

// find returns the entry of a command or subcommand, or nil.
func (t table) find(words []string) *entryOfTable {
	e := t[strings.ToLower(words[0])]
	if e == nil || len(e.subs) == 0 || len(words) == 1 {
		return e
	}
	return e.subs[strings.ToLower(words[1])]
}

// is reports whether the command has a flag.
func (e *entryOfTable) is(flag string) bool { return slices.Contains(e.flags, flag) }

// keys returns the keys among the arguments of the command.
func (e *entryOfTable) keys(args []string) []string {
	if e == nil || e.first == 0 {
		return nil
	}
	last := e.last
	if last < 0 {
		last += len(args) + 1
	}
	var keys []string
	for i := e.first; i <= last && i <= len(args); i += e.step {
		keys = append(keys, args[i-1])
	}
	return keys
}

// fits reports whether a command has a valid number of words.
func (e *entryOfTable) fits(words []string) bool {
	return len(words) == e.arity || e.arity < 0 && len(words) >= -e.arity
}

// misused returns the error for an unknown command, for a wrong number of arguments, and for a command that a transaction
// must not contain.
func (t table) misused(words []string, transaction bool) (text string, wrong bool) {
	e := t.find(words)
	switch {
	case e == nil && t[strings.ToLower(words[0])] != nil:
		text = fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", words[1], strings.ToUpper(words[0]))
	case e == nil:
		var shown strings.Builder
		for _, word := range words[1:] {
			left := 128 - shown.Len()
			if left <= 0 {
				break
			}
			fmt.Fprintf(&shown, "'%s' ", word[:min(left, len(word))])
		}
		text = fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", words[0][:min(128, len(words[0]))], shown.String())
	case !e.fits(words):
		text = fmt.Sprintf("ERR wrong number of arguments for '%s' command", e.name)
	case protected[e.name] != "":
		text = fmt.Sprintf("ERR %s command not allowed. If the enable-%s-command option is set to \"local\", you can run it from a local connection, "+
			"otherwise you need to set this option in the configuration file, and then restart the server.", strings.ToUpper(protected[e.name]), protected[e.name])
	case transaction && e.is("no_multi"):
		text = "ERR Command not allowed inside a transaction"
	default:
		return "", false
	}
	text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	if e != nil && e.name == "exec" {
		text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
	}
	return text, true
}

// protected are commands that a server executes only if its configuration allows it, with the name of the setting.
var protected = map[string]string{"debug": "debug", "module|load": "module", "module|loadex": "module", "module|unload": "module"}

// misusedInScript is misused for commands in scripts.
func (t table) misusedInScript(words []string) (text string) {
	e := t.find(words)
	switch {
	case e == nil:
		return "ERR Unknown Redis command called from script"
	case !e.fits(words):
		return "ERR Wrong number of args calling Redis command from script"
	case e.is("noscript"):
		return "ERR This Redis command is not allowed from script"
	}
	return ""
}
