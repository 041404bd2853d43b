//go:build linux

package libraries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/service/zookeeper"
)

// ZooKeeper's servers run in world local with the locks of this project and two libraries, Curator and kazoo.
func TestZooKeeperInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	for _, needed := range []string{
		"java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar org.apache.zookeeper.Version",
		"javac -version", "test -e /usr/share/java/curator-recipes.jar", "/usr/bin/python3 -c 'import kazoo'",
	} {
		if out, err := exec.Command("sh", "-c", needed).CombinedOutput(); err != nil {
			needs.OrSkip(t, zookeeper.Name, fmt.Errorf("zookeeper, libcurator-recipes-java, default-jdk-headless or python3-kazoo is missing: %s: %s", needed, out))
		}
	}
	run, results := program(t)
	// Each client of Curator's is a JVM.
	run(0, "1 zookeeper", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--clients", "2",
		"--locks", "no-lock,zk-recipe,zk-curator,zk-kazoo")
	// The leader is killed, and comes back without its data.
	run(0, "zookeeper quorum of 3", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--clients", "4",
		"--locks", "no-lock,zk-recipe")
	nothingPassedBeside(t, filepath.Join(results, "latest/zk-recipe/logs"))
	run(2, "no model of zookeeper", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,zk-recipe")
}

var called = regexp.MustCompile(`Received connection request from /127\.\d+\.\d+\.(\d+):`)

// nothingPassedBeside reads the source addresses of elections in the servers' logs. The proxy uses a member's address;
// direct connections have another one.
func nothingPassedBeside(t *testing.T, logs string) {
	t.Helper()
	calls := 0
	for _, name := range []string{"zookeeper-1", "zookeeper-2", "zookeeper-3"} {
		text, err := os.ReadFile(filepath.Join(logs, name+".log"))
		if err != nil {
			t.Error(err)
		}
		for _, by := range called.FindAllStringSubmatch(string(text), -1) {
			calls++
			if !strings.Contains("123", by[1]) || "zookeeper-"+by[1] == name {
				t.Errorf("%s was called past the network: %s", name, by[0])
			}
		}
	}
	if calls < 3 {
		t.Errorf("the logs tell of %d calls", calls)
	}
	network, err := os.ReadFile(filepath.Join(logs, "network.log"))
	if err != nil || strings.Contains(string(network), "turned away") {
		t.Errorf("%v, the network says: %s", err, network)
	}
}
