package simredis

// This file implements transactions: MULTI, EXEC and DISCARD, and the commands between them.

// endsTransaction reports whether a command is executed at once within a transaction.
func endsTransaction(name string) bool { return name == "EXEC" || name == "DISCARD" }

// queue adds the command to a transaction. The caller must hold exec.
func (c *call) queue(known command, text string) {
	switch {
	case c.name == "WATCH":
		c.peer.WriteError("ERR WATCH inside MULTI is not allowed")
		return
	case c.name == "MULTI":
		c.peer.WriteError("ERR MULTI calls can not be nested")
		return
	case known.write && c.node.role.readonly.Load():
		c.spoil(readonlyText)
		return
	case known.write && !c.node.role.enoughReplicas():
		c.spoil(fewReplicasText)
		return
	case known.blocks:
		c.refuse(c.name + " in a transaction")
		return
	}
	c.scripts.learn(c.name, c.args)
	// A real server checks the arguments when it executes the command, and executes the other commands even if this one
	// fails. miniredis checks them now and fails the transaction.
	said := c.aside(c.peer, c.words()...)
	if said != "+QUEUED\r\n" || text != "" || known.answer != nil {
		c.refuse(c.name + " in a transaction")
		return
	}
	c.session.commands = append(c.session.commands, c.words())
	c.peer.WriteRaw(said)
}

// spoil refuses the command, and makes the EXEC of its transaction fail by a command that miniredis refuses.
func (c *call) spoil(text string) {
	c.aside(c.peer, "GET")
	c.peer.WriteError(text)
}

// transacted notes the begin and the end of a transaction, and the keys that it has written. The caller must hold exec.
func (c *call) transacted() {
	switch c.name {
	case "MULTI":
		c.session.multi, c.session.commands = true, nil
	case "EXEC":
		for _, queued := range c.session.commands {
			if known := covered()[queued[0]]; known.write {
				c.dirty = append(c.dirty, known.keys(queued[1:])...)
			}
		}
		c.session.multi, c.session.commands = false, nil
	case "DISCARD":
		c.session.multi, c.session.commands = false, nil
	}
}
