// Package kubernetes checks the manifests in its directory against the types of the Kubernetes API. It
// is a separate module, so that lockbench does not depend on the API's packages.
package kubernetes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// read reads a file, and refuses every key that the API does not know.
func read[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestFiles(t *testing.T) {
	k := read[kustomize.Kustomization](t, "kustomization.yaml")
	if unknown := k.CheckEmpty(); unknown != nil || k.Kind != kustomize.KustomizationKind || k.APIVersion != kustomize.KustomizationVersion {
		t.Errorf("kustomization: %s %s, %v", k.APIVersion, k.Kind, unknown)
	}
	for _, name := range slices.Concat(k.Resources, k.ConfigMapGenerator[0].FileSources) {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	claim := read[core.PersistentVolumeClaim](t, "results.yaml")
	parts, merge := read[batch.Job](t, "campaign-job.yaml"), read[batch.Job](t, "merge-job.yaml")
	for _, x := range []struct{ got, want string }{
		{claim.Kind + " " + claim.APIVersion, "PersistentVolumeClaim v1"},
		{parts.Kind + " " + parts.APIVersion, "Job batch/v1"},
		{merge.Kind + " " + merge.APIVersion, "Job batch/v1"},
		{string(*parts.Spec.CompletionMode), string(batch.IndexedCompletion)},
	} {
		if x.got != x.want {
			t.Errorf("got %s, want %s", x.got, x.want)
		}
	}
	if !slices.Contains(claim.Spec.AccessModes, core.ReadWriteMany) {
		t.Error("parts on many nodes cannot write to the volume")
	}
	// One number, in three places.
	env := parts.Spec.Template.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(e core.EnvVar) bool { return e.Name == "LOCKBENCH_SHARDS" })
	if i < 0 || env[i].Value != strconv.Itoa(int(*parts.Spec.Completions)) || *parts.Spec.Parallelism > *parts.Spec.Completions {
		t.Errorf("%d completions, %d at once, %v", *parts.Spec.Completions, *parts.Spec.Parallelism, env)
	}
	for _, job := range []batch.Job{parts, merge} {
		pod := job.Spec.Template.Spec
		if pod.RestartPolicy != core.RestartPolicyNever || pod.SecurityContext == nil || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: %+v", job.Name, pod)
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			v := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name })
			switch {
			case v < 0:
				t.Errorf("%s mounts %s, which is not a volume", job.Name, m.Name)
			case pod.Volumes[v].PersistentVolumeClaim != nil && pod.Volumes[v].PersistentVolumeClaim.ClaimName != claim.Name,
				pod.Volumes[v].ConfigMap != nil && pod.Volumes[v].ConfigMap.Name != k.ConfigMapGenerator[0].Name:
				t.Errorf("%s: volume %s is not in these files", job.Name, m.Name)
			}
		}
	}
}

// A key that the API does not know is refused: the test above can fail.
func TestStrict(t *testing.T) {
	files, _ := filepath.Glob("*-job.yaml")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(append(text, "completion: 8\n"...), &batch.Job{}); err == nil {
			t.Errorf("%s: a key that there is not was taken", name)
		}
	}
	if len(files) != 2 {
		t.Errorf("found %v", files)
	}
}
