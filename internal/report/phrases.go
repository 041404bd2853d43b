package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// The rules that need their own words in a story.
const (
	lostUpdateRule = "lost-update" // a write that undid others; its sessions need not have overlapped
	overtakenRule  = "overtaken"   // the story is about the grant, because the waiter may never have held
	lostWakeUpRule = "lost-wake-up"
	noProgressRule = "no-progress"
	refusedRule    = "refused-though-free"
)

func (n *incident) lock() string { return cmp.Or(OneLine(n.h.Header.Lock), "the lock") }

// title is the violation in one line.
func (n *incident) title() string {
	lock, key := n.lock(), quoteKey(n.key)
	a, b := n.a, n.b
	granted := fmt.Sprintf("%s granted %s", lock, key)
	switch {
	case b == nil || n.finding.Class == checker.NoClass || n.finding.Class == checker.StaleWrite || n.finding.Rule == lostUpdateRule:
		return lock + " " + n.ruleTitle()
	case n.finding.Class == checker.Overstay:
		late, other := n.late()
		return fmt.Sprintf("%s: %s worked on %s after its lease, while %s held it", lock, late.name, key, other.name)
	case a.session.Mode != b.session.Mode:
		return fmt.Sprintf("%s %s to %s while %s held it %s", granted, b.session.Mode, b.name, a.name, a.session.Mode)
	}
	return fmt.Sprintf("%s to %s while %s held it", granted, b.name, a.name)
}

// ruleTitle is the title of a finding of a rule whose findings do not show two holders: a predicate whose subject is the lock.
// The text of the finding, which has the evidence, is the reason below.
func (n *incident) ruleTitle() string {
	key, first, second := quoteKey(n.key), n.concerned(0), n.concerned(1)
	switch n.finding.Rule {
	case "evicted":
		return fmt.Sprintf(`answered %s "not held", although it held %s`, first, key)
	case "released-without-holding":
		return fmt.Sprintf("confirmed a %s of %s by %s, which cannot have held it", n.confirmed(), key, first)
	case "released-twice":
		return fmt.Sprintf("confirmed two releases of one hold of %s by %s", key, first)
	case "granted-dead":
		return fmt.Sprintf("granted %s to %s after its lease was over", key, first)
	case refusedRule:
		return fmt.Sprintf("refused %s to %s, although it was free", key, first)
	case lostUpdateRule:
		return fmt.Sprintf("let %s undo a write to %s", cmp.Or(n.actor(), first), key)
	case "stale-write":
		return fmt.Sprintf("let %s write to %s after a later holder", first, key)
	case "token-fell":
		return fmt.Sprintf("let the token of %s fall%s", key, n.tokens(" from %d to %d"))
	case "token-repeated":
		return fmt.Sprintf("gave a token of %s to %s and again to %s", key, first, second)
	case noProgressRule:
		return fmt.Sprintf("granted %s to no client, although it was free", key)
	case "unavailable":
		return fmt.Sprintf("granted %s to no client, although its servers could grant it", key)
	case lostWakeUpRule:
		return fmt.Sprintf("left %s waiting for %s, although it was free", first, key)
	case "residue":
		return "left state on the servers when every client was gone"
	case overtakenRule:
		if n.waits != nil && n.a != nil {
			return fmt.Sprintf("granted %s to %s before %s, which had waited longer", key, n.a.name, n.waits.name)
		}
	case "lease-short":
		return fmt.Sprintf("keeps %s for %s for less than its lease", key, first)
	case "lease-long":
		return fmt.Sprintf("keeps %s for %s for longer than its lease", key, first)
	case "handed-over-early":
		return fmt.Sprintf("granted %s before the lease of its dead holder ended", key)
	case "flood":
		return "let a client flood the servers with commands"
	case "not-linearizable":
		return fmt.Sprintf("gave answers for %s that no order explains", key)
	}
	return fmt.Sprintf("broke the rule %s", cmp.Or(clip(OneLine(n.finding.Rule), 30), "of a finding"))
}

// concerned is the name of the n-th client of the finding.
func (n *incident) concerned(nth int) string {
	if nth < len(n.finding.Sessions) {
		for _, t := range n.holders() {
			if t.session.Name == n.finding.Sessions[nth] {
				return t.name
			}
		}
	}
	return "a client"
}

// actor is the name of the client whose answer is the event of the finding, or empty.
func (n *incident) actor() string {
	for _, t := range n.holders() {
		if n.answeredAt(t) != nil {
			return t.name
		}
	}
	return ""
}

// answeredAt returns the operation of a holder whose answer is the event of the finding, or nil.
func (n *incident) answeredAt(t *holder) *history.Op {
	i := slices.IndexFunc(t.session.Ops, func(op history.Op) bool { return op.Return >= 0 && op.Return == n.h.Position(n.finding.Event) })
	if i < 0 {
		return nil
	}
	return &t.session.Ops[i]
}

// confirmed names the operation whose answer is the event of the finding.
func (n *incident) confirmed() string {
	for _, t := range n.holders() {
		if op := n.answeredAt(t); op != nil && op.F == history.Renew {
			return "renewal"
		}
	}
	return "release"
}

// tokens writes the tokens of the two grants of the finding, if both have one.
func (n *incident) tokens(format string) string {
	var tokens []any
	for _, name := range n.finding.Sessions {
		for _, t := range n.holders() {
			if token := n.h.At(t.granted).Token; t.session.Name == name && token != nil {
				tokens = append(tokens, *token)
			}
		}
	}
	if len(tokens) != 2 {
		return ""
	}
	return fmt.Sprintf(format, tokens...)
}

// label is class and episode: "double-grant, episode 1".
func (n *incident) label() string {
	var parts []string
	if name := cmp.Or(n.finding.Class.String(), clip(OneLine(n.finding.Rule), 30)); name != "" {
		parts = append(parts, name)
	}
	if episode, ok := n.h.EpisodeAt(n.h.Position(n.finding.Event)); ok {
		parts = append(parts, fmt.Sprintf("episode %d", episode))
	}
	return strings.Join(parts, ", ")
}

// why explains the class of the finding, or is its text if it has no class.
func (n *incident) why() string {
	pair := n.b != nil
	switch class := n.finding.Class; {
	case class == checker.DoubleGrant && pair:
		return n.whyDoubleGrant()
	case class == checker.Overstay && pair:
		return n.whyOverstay()
	case class == checker.StaleWrite:
		return told(n.finding.Text) + " " + n.whyStaleWrite()
	case class == checker.Undetermined && pair:
		return n.whyUndetermined()
	case class == checker.Undetermined:
		return "The history does not show until when the clients could believe that they held."
	}
	return told(n.finding.Text)
}

// told makes a sentence of the text of a finding.
func told(text string) string {
	if text = OneLine(text); text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

func (n *incident) whyDoubleGrant() string {
	if n.believes > n.meets {
		if again := n.renewedAt(n.believes); again != nil {
			return fmt.Sprintf("The lock renewed the lease of %s at %s, while another client held it: the lock was granted twice.",
				again.name, Stamp(n.at(n.believes)))
		}
	}
	sign := "no sign of loss"
	if lost := n.a.session.Lost; len(lost) > 0 && lost[0] <= n.meets {
		sign = "a confirmation after the notice of loss"
	}
	had := "had the lock"
	if l := n.a.lease(n.meets); l.kind == hold.Bounded && l.deadline > n.at(n.meets) {
		had = fmt.Sprintf("had %s of its lease left", Stamp(l.deadline-n.at(n.meets)))
	}
	return fmt.Sprintf("%s %s and %s: the lock was granted twice.", sentence(n.a.name), had, sign)
}

// renewedAt returns the holder whose renewal was answered with ok at a position, or nil.
func (n *incident) renewedAt(pos int) *holder {
	for _, t := range n.holders() {
		for _, op := range t.session.Ops {
			if op.F == history.Renew && op.Outcome == history.Done && op.Return == pos {
				return t
			}
		}
	}
	return nil
}

func (n *incident) whyOverstay() string {
	late, _ := n.late()
	ended := "'s lease had ended"
	switch l := late.lease(n.meets); {
	case l.kind == hold.Renewed:
		ended = " could not renew its lease in time"
	case l.kind == hold.Bounded || l.kind == hold.Answered:
		ended = "'s lease ended at " + Stamp(l.deadline)
	}
	worked := "it had not released"
	if n.worked >= 0 {
		worked = "it still worked at " + Stamp(n.at(n.worked))
	}
	return fmt.Sprintf("%s%s and %s. No lease prevents this; a fenced resource can.", sentence(late.name), ended, worked)
}

func (n *incident) whyUndetermined() string {
	who := n.a
	if n.a.lease(n.meets).kind != hold.Waited && n.b.lease(n.ends).kind == hold.Waited {
		who = n.b
	}
	if who.lease(n.meets).kind == hold.Waited {
		return fmt.Sprintf("Both held, but until when %s could believe so is unknown: it waited for its grant, which does not show the end of the lease.", who.name)
	}
	return "Both held, but the machine's clocks had moved against each other: until when they could believe so is unknown."
}

func (n *incident) whyStaleWrite() string {
	form := n.h.At(n.h.Position(n.finding.Event)).Resource
	for _, t := range n.holders() {
		if op := n.answeredAt(t); op != nil {
			form = n.form(*op)
		}
	}
	if form == history.Fenced {
		return "The token of the write was not below the highest seen, so the check let it through."
	}
	return "The resource does not check tokens."
}

// sentence begins a sentence with a name.
func sentence(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
