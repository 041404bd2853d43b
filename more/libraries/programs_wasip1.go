package libraries

func programs() []Library { return nil }
