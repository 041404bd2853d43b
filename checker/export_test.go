package checker

// ParseGolden reads the history of a golden file, for tests of packages that import this one.
var ParseGolden = parse
