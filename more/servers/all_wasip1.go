package servers

var all []Server
