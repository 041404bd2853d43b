//go:build unix

// Package guests serves locks of libraries in other languages with the interpreters of this machine: redis-py's Lock and
// kazoo's Lock in Python, and Apache Curator's InterProcessMutex, for which a small program in Java is compiled when it is
// first used.
package guests

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	pythonguest "lockbench/examples/python-guest"
)

const (
	curator = "zk-curator"
	kazoo   = "zk-kazoo"
)

// All are the guests by the names of their locks. A guest is called with its options and replaces this process.
var All = map[string]func(words []string) error{
	"redis-py": func([]string) error {
		return servePython("redis", "redis-py", "python3-redis", pythonguest.Source, os.Environ())
	},
	curator: serveCurator,
	kazoo:   serveKazoo,
}

// servePython replaces this process by a program in Python, if an interpreter has the module that it imports.
func servePython(module, name, pkg, source string, env []string) error {
	for _, python := range []string{"/usr/bin/python3", "python3"} { // that of the system has the system's packages
		path, err := exec.LookPath(python)
		if err == nil && exec.Command(path, "-c", "import "+module).Run() == nil {
			return syscall.Exec(path, []string{path, "-u", "-c", source}, env)
		}
	}
	return fmt.Errorf("no python3 here has %s (on Debian or Ubuntu: apt-get install %s)", name, pkg)
}

//go:embed CuratorGuest.java
var curatorSource []byte

//go:embed kazoo_guest.py
var kazooSource string

// classPath lists Curator and its dependencies as Debian installs them.
const classPath = "/usr/share/java/curator-recipes.jar:/usr/share/java/curator-framework.jar:/usr/share/java/curator-client.jar:" +
	"/usr/share/java/guava.jar:/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"

const installCurator = "on Debian or Ubuntu: apt-get install libcurator-recipes-java libslf4j-java default-jdk-headless"

// serveCurator replaces this process by the guest with Curator's mutex.
func serveCurator(words []string) error {
	java, err := exec.LookPath("java")
	if err != nil {
		return fmt.Errorf("there is no java here (%s)", installCurator)
	}
	for _, jar := range strings.Split(classPath, ":") {
		if _, err := os.Stat(jar); err != nil {
			return fmt.Errorf("there is no %s (%s)", jar, installCurator)
		}
	}
	set, err := properties(words)
	if err != nil {
		return err
	}
	classes, err := compiled()
	if err != nil {
		return err
	}
	args := append([]string{
		"java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.sasl.client=false",
	}, set...)
	return syscall.Exec(java, append(args, "-cp", classes+":"+classPath, "CuratorGuest"), os.Environ())
}

// properties returns the options in the form in which the Java program reads them.
func properties(words []string) (set []string, err error) {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "listener":
			if value != "on" && value != "off" {
				return nil, fmt.Errorf("option listener: %q is neither on nor off", value)
			}
		case "session", "connection-timeout", "retry":
			d, err := time.ParseDuration(value)
			if err != nil || d < time.Millisecond {
				return nil, fmt.Errorf("option %s: %q is not a duration such as 2s", name, value)
			}
			value = fmt.Sprint(d.Milliseconds())
		default:
			return nil, fmt.Errorf("%s has no option %s; options: listener, session, connection-timeout, retry", curator, name)
		}
		set = append(set, "-D"+name+"="+value)
	}
	return set, nil
}

// compiled returns the folder of the compiled program. Each version is compiled once, also if several processes start at
// the same time.
func compiled() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("keep the compiled guest: %w", err)
	}
	dir := filepath.Join(cache, "lockbench", "curator")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep the compiled guest: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return "", fmt.Errorf("keep the compiled guest: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("keep the compiled guest: %w", err)
	}
	classes := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(curatorSource))[:16])
	if _, err := os.Stat(filepath.Join(classes, "CuratorGuest.class")); err == nil {
		return classes, nil
	}
	making, err := os.MkdirTemp(dir, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(making)
	source := filepath.Join(making, "CuratorGuest.java")
	if err := os.WriteFile(source, curatorSource, 0o644); err != nil {
		return "", err
	}
	said, err := exec.Command("javac", "--release", "11", "-proc:none", "-cp", classPath, "-d", making, source).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no javac here (%s)", installCurator)
	case err != nil:
		return "", fmt.Errorf("compile the guest: %w: %.500s (%s)", err, said, installCurator)
	}
	if err := os.RemoveAll(classes); err != nil {
		return "", err
	}
	return classes, os.Rename(making, classes)
}

// serveKazoo replaces this process by the guest with kazoo's lock.
func serveKazoo(words []string) error {
	env := os.Environ()
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		d, err := time.ParseDuration(value)
		if name != "session" || err != nil || d < time.Millisecond {
			return fmt.Errorf("%s has one option, session=2s, and not %q", kazoo, w)
		}
		env = append(env, fmt.Sprintf("LOCKBENCH_KAZOO_SESSION=%g", d.Seconds()))
	}
	return servePython("kazoo", "kazoo", "python3-kazoo", kazooSource, env)
}
