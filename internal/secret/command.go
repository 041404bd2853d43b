package secret

import "regexp"

// A word of a shell that is not a variable. The value of a variable does not appear in a command.
const shellWord = `(?:"[^"$]*"|'[^']*'|[^\s$"';|&)]+)`

// secretPlaces are where commands have passwords. The first group is what stands before one, and
// stays.
var secretPlaces = []*regexp.Regexp{
	regexp.MustCompile(`(://[^\s/:@'"]*:)[^\s@'"]+@`),
	regexp.MustCompile(`(?i)(\b[a-z0-9_]*(?:pass|passwd|password|passphrase|pwd|auth|token|secret)=)` + shellWord),
	regexp.MustCompile(`(?i)((?:^|\s)--?(?:pass|passwd|password|auth|requirepass|token|secret)(?:\s+|=))` + shellWord),
	regexp.MustCompile(`(?i)(\b(?:authorization:\s*)?(?:basic|bearer)\s+)` + shellWord),
	regexp.MustCompile(`(\bredis-cli\b[^|;&\n]*?\s-a\s*)` + shellWord),
	regexp.MustCompile(`(\b(?:mysql|mysqladmin|mysqldump|mariadb|mariadb-admin|mariadb-dump)\b[^|;&\n]*?\s-p)` + shellWord),
	regexp.MustCompile(`((?:^|\s)(?:-u|--user)(?:\s+|=)['"]?[^\s:'"]+:)` + shellWord),
	regexp.MustCompile(`(?i)(\b(?:AUTH|requirepass|masterauth)\s+)` + shellWord),
}

// Command masks the passwords in a text that stand where commands usually have them.
func Command(text string) string {
	for i, place := range secretPlaces {
		with := "${1}" + Hidden
		if i == 0 {
			with += "@"
		}
		text = place.ReplaceAllString(text, with)
	}
	return text
}
