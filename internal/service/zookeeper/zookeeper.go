// Package zookeeper is ZooKeeper as a lock service: one server, or an ensemble of three that elects a
// leader and writes nothing without a majority.
//
// Lockbench queries servers directly by ZooKeeper's four-letter words (ruok, srvr, mntr), with a
// connection for each.
//
// During an election, a member tells another the address on which it listens, to be called back. So
// members dial through their own proxies where the world has them (the JVM takes a proxy as a
// property), or else these calls would bypass the faults on the link.
package zookeeper

import (
	_ "embed"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "zookeeper"

// Quorum is an ensemble whose members elect a leader and commit nothing without a majority.
const Quorum locks.Topology = "quorum"

var topologies = []service.Topology{
	service.One(Name, electionPort),
	{
		Name: Quorum, Short: "zookeeper quorum of {n}", Leads: service.OneLeader, Outlives: true, Entry: Name,
		PeerPorts: electionPort, Proxied: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
	},
}

//go:embed settings.txt
var settingsText string

// Service is ZooKeeper.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.Needs{
		Programs: []service.Executable{
			{Name: "java", Package: "default-jre-headless", Words: jvm, Called: Name},
			{Name: "bash", Package: "bash"},
		},
		Files: files,
		Install: "install zookeeper and a Java of version 11 or newer (on Debian or Ubuntu: apt-get install zookeeper default-jre-headless), " +
			"or name with --server zookeeper=PATH a script of your own, such as exec java -cp '/opt/zookeeper/lib/*' \"$@\"",
		// Both versions are printed to standard output.
		VersionArgs: []string{"--show-version", "org.apache.zookeeper.Version", "--short"},
		Version:     version,
		Least:       "3.5",
		Shell:       service.Shell{Ping: shellPing, Pong: []byte("imok")},
	},
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { return newServers(t, h) },
	Wire:    wire,
	External: service.External{
		Schemes: urls.Schemes(), Locate: urls.Locate, Login: service.Secure, Survey: survey, Open: openExternal,
	},
}

// jvm are the flags that keep a server small and quick to start, and the class path.
var jvm = []string{
	"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
	"-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
}

// files returns the files of Java, and all jars, because they refer to each other.
func files(java string) []string {
	home := filepath.Dir(filepath.Dir(java))
	return []string{java, filepath.Join(home, "lib"), filepath.Join(home, "conf"), "/usr/share/java/*.jar"}
}

func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, "ruok", len("imok")), "imok"
}

var (
	javaPattern = regexp.MustCompile(`(?m)^\S+ (\d+)(\.\S+)? .*\d{4}-\d{2}-\d{2}`)
	ownVersion  = service.VersionReader(`(?m)^((\d+)\.(\d+)\.\S+)$`, "a ZooKeeper", 3, 5)
)

// version parses the output of both programs. Before ZooKeeper 3.5, an ensemble had other settings.
func version(output string) (text string, enough bool, err error) {
	text, enough, err = ownVersion(output)
	if java := javaPattern.FindStringSubmatch(output); err == nil && java != nil {
		text += " on Java " + java[1]
	}
	return text, enough, err
}

// The ports of a node: one for clients, and two for the other members.
const (
	clientPort = iota
	peerPort   // for followers of a leader
	electionPort
)

// program returns the command line of a server.
func program(at service.Place) service.Program {
	set := map[string]string{
		// A member counts as dead after ten ticks of 200 ms, because a busy machine can be silent for half a second.
		"tickTime": "200", "initLimit": "10", "syncLimit": "10",
		"maxSessionTimeout": "60000",
		"maxClientCnxns":    "0",
		"preAllocSize":      "256",
	}
	maps.Copy(set, at.Settings)
	maps.Copy(set, map[string]string{
		"dataDir": at.Data, "clientPort": fmt.Sprint(at.Port),
		"admin.enableServer": "false", "4lw.commands.whitelist": "ruok,srvr,mntr",
	})
	if at.Bind.IsValid() {
		set["clientPortAddress"] = at.Bind.String()
	}
	files := map[string]string{}
	args := []string{
		"-Dzookeeper.preAllocSize=" + set["preAllocSize"],
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		// These loggers write a line for each query of lockbench.
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn",
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.command=warn",
	}
	if members := at.Topology.Nodes(); len(members) > 1 {
		for i, n := range members {
			where := at.Announced.Addr()
			if seen := at.Peers[n.Name]; len(seen) > 0 {
				where = seen[clientPort].Addr()
			}
			set[fmt.Sprintf("server.%d", i+1)] = fmt.Sprintf("%s:%d:%d", where, at.Port+peerPort, at.Port+electionPort)
			if n == at.Node {
				files[path.Join(at.Data, "myid")] = fmt.Sprintln(i + 1)
			}
		}
		if at.Proxy.IsValid() {
			args = append(args, "-DsocksProxyHost="+at.Proxy.Addr().String(), fmt.Sprintf("-DsocksProxyPort=%d", at.Proxy.Port()), "-DsocksNonProxyHosts=")
		}
	}
	file := path.Join(at.Config, "zoo.cfg")
	files[file] = strings.Join(service.Format("%s=%s\n", set), "")
	return service.Program{Args: append(args, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file), Files: files}
}
