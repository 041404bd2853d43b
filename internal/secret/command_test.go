package secret

import (
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, text := range []string{
		"redis-cli -h a -a hunter2 SHUTDOWN", "redis-cli -ahunter2 PING", "redis-cli -a 'hunter2' PING", "redis-cli --pass hunter2 PING",
		"redis-cli -u redis://:hunter2@a:6379 PING", "redis-cli -u redis://u:hunter2@a PING", "REDISCLI_AUTH=hunter2 redis-cli PING",
		"env PGPASSWORD='hunter2' psql", "mysql -uroot -phunter2 -e x", "MYSQL_PWD=hunter2 mariadb", "mariadb --password=hunter2",
		"curl -u admin:hunter2 http://a", "curl --user 'admin:hunter2' http://a", "curl http://admin:hunter2@a/x",
		"curl -H 'Authorization: Bearer hunter2' a", "redis-cli CONFIG SET requirepass hunter2", "echo AUTH hunter2 | nc a 6379",
		"consul --token=hunter2",
	} {
		if got := Command(text); strings.Contains(got, "hunter2") || !strings.Contains(got, Hidden) {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"redis-cli -h a -a hunter2 PING": "redis-cli -h a -a *** PING",
	} {
		if got := Command(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{
		`ssh {host} redis-cli -p {port} SHUTDOWN`, `redis-cli -a "$PASSWORD" PING`, "docker kill redis-1", "systemctl stop redis@6379",
		"iptables -A INPUT -s 10.0.0.1 -j DROP", "kill -STOP 7; exit 7", "http://a:1/x", "PGPASSWORD=$PW psql", "echo no my-redis-1; exit 7",
	} {
		if got := Command(text); got != text {
			t.Errorf("%s: nothing is secret, and it became %s", text, got)
		}
	}
}
