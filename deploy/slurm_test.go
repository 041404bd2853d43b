package deploy

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
)

// TestSlurm: an array of eight on a controller and a node of this machine, one worker of
// which is killed, says the same as one process.
func TestSlurm(t *testing.T) {
	onlyInLong(t)
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	needs.OrSkip(t, "slurm", needs.Programs("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo"))
	if os.Getuid() != 0 {
		needs.OrSkip(t, "slurm", fmt.Errorf("slurmd starts its tasks as their users, and must be root for that"))
	}
	dir := t.TempDir()
	key, socket, conf := filepath.Join(dir, "munge.key"), filepath.Join(dir, "munge.socket"), filepath.Join(dir, "slurm.conf")
	secret := make([]byte, 128)
	if _, err := rand.Read(secret); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	background(t, nil, "munged", "--foreground", "--force", "--key-file", key, "--socket", socket,
		"--pid-file", filepath.Join(dir, "munge.pid"), "--log-file", filepath.Join(dir, "munge.log"), "--seed-file", filepath.Join(dir, "munge.seed"))
	await(t, "munged", func() (bool, string) { _, err := os.Stat(socket); return err == nil, fmt.Sprint(err) })
	host := strings.TrimSpace(command(t, nil, "hostname", "-s"))
	for _, folder := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ports := freePorts(t, 2)
	text := fmt.Sprintf(`ClusterName=lockbench
SlurmctldHost=%s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=%d
SlurmdPort=%d
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=%s,cred_expire=2
StateSaveLocation=%s/state
SlurmdSpoolDir=%[6]s/spool
SlurmctldPidFile=%[6]s/slurmctld.pid
SlurmdPidFile=%[6]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`, host, ports[0], ports[1], socket, dir, dir)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"SLURM_CONF=" + conf}
	background(t, env, "slurmctld", "-D", "-f", conf)
	background(t, env, "slurmd", "-D", "-f", conf, "-N", host)
	await(t, "a node that is idle", func() (bool, string) {
		out := commandOutput(env, "sinfo", "--noheader", "--format=%T")
		return strings.TrimSpace(out) == "idle", out
	})
	results := filepath.Join(dir, "results")
	file, err := filepath.Abs("campaign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	export := fmt.Sprintf("--export=ALL,CAMPAIGN=%s,OUT=%s,LOCKBENCH=%s", file, results, trialtest.Program(t))
	said := command(t, env, "sbatch", "--array=1-8", "--chdir="+dir, export, "slurm/campaign.sbatch")
	t.Log(strings.TrimSpace(said))
	killOne(t, results, results)
	await(t, "the end of all parts", func() (bool, string) {
		out := commandOutput(env, "squeue", "--noheader", "--array", "--format=%i %T %r")
		return strings.TrimSpace(out) == "", out
	})
	killed := false
	logs, _ := filepath.Glob(filepath.Join(dir, "lockbench-*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		killed = killed || strings.Contains(string(text), "Killed")
	}
	if len(logs) != 8 || !killed {
		t.Errorf("%d logs of parts; a worker was killed: %v", len(logs), killed)
	}
	merged := filepath.Join(dir, "merged")
	t.Log(command(t, nil, trialtest.Program(t), "merge", filepath.Join(results, "matrix", "campaign"), "--out", merged))
	inOneProcess(t, merged)
}
