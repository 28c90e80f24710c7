package mirror

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/cluster"
	namecheck "github.com/clustergym/clustergym/internal/names"
)

// terms are what users state about a gang. A missing or invalid value counts as not stated.
type terms struct {
	need     int32
	min, max int32 // pods, 0 if not stated
	estimate time.Duration
	model    string
}

// terms reads the annotations of a gang. It reads those about the gang's size only if the gang is elastic.
func (b *builder) terms(c *podGang, pods []*corev1.Pod, need int32, elastic bool) (t terms, f *fault) {
	t = terms{need: need, estimate: min(max(b.Estimate, 0), longest)}
	wrong := func(format string, args ...any) {
		if f == nil {
			f = faultf(reasonAnnotation, format, args...)
		}
	}
	if c.other != 0 {
		f = faultf(reasonPodsDiffer, "annotation %s is %d and %d on pods of one gang, want one number",
			gang.MinMemberAnnotation, c.group.MinCount, c.other)
	}
	count := func(key string, least int32) int32 {
		object, value, ok := c.annotation(pods, key)
		if !ok || !elastic {
			return 0
		}
		n, err := gang.Count(object, "annotation "+key, value)
		switch {
		case err != nil:
			wrong("%v", err)
		case n < least:
			wrong("%s: annotation %s is %d, want at least %d", object, key, n, least)
		default:
			return n
		}
		return 0
	}
	t.min = count(minWorkersAnnotation, c.group.MinCount)
	t.max = count(MaxWorkersAnnotation, max(c.group.MinCount, t.min))
	if object, value, ok := c.annotation(pods, EstimateAnnotation); ok {
		if d, err := time.ParseDuration(value); err == nil && d > 0 && d <= longest {
			t.estimate = d
		} else {
			wrong("%s: annotation %s is %q, want a duration above 0 and up to 100 years, as 90m or 36h",
				object, EstimateAnnotation, value)
		}
	}
	if object, value, ok := c.annotation(pods, modelAnnotation); ok {
		if t.model = value; !printable(value) {
			t.model = ""
			wrong("%s: annotation %s is %q, want at most %d bytes, all printable", object, modelAnnotation, value, longestName)
		}
	}
	return t, f
}

// annotation looks for a key on the object of the group and then on the pods. It returns the object that has the key, and the
// value.
func (c *podGang) annotation(pods []*corev1.Pod, key string) (object, value string, ok bool) {
	if value, ok = c.group.Annotations[key]; ok {
		return fmt.Sprintf("group %s/%s", c.namespace, c.name), value, true
	}
	for _, pod := range pods {
		if value, ok = pod.Annotations[key]; ok {
			return fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name), value, true
		}
	}
	return "", "", false
}

// size sets the number of workers of a gang whose pods have one GPU each: the number of its pods, limited to the stated bounds. A
// running gang gets bounds that include its number of bound pods.
func (t *terms) size(spec *cluster.JobSpec, pods, bound int32, running bool) {
	least, most := max(t.need, t.min), cmp.Or(t.max, pods)
	if running {
		least, most = min(least, bound), max(most, bound)
	}
	most = max(most, least)
	spec.Workers = min(max(pods, least), most)
	if least != most {
		spec.MinWorkers, spec.MaxWorkers = least, most
	}
}

// longestName is the longest name in bytes that a snapshot can contain.
const longestName = namecheck.Longest

// jobName returns the name of a gang's job. A name too long for a snapshot is cut and ends in a digest. The parameter kind
// distinguishes gangs with the same name, and is "" for the first of them.
func jobName(namespace, name, kind string) string {
	full := namespace + "/" + name
	if kind != "" {
		full += " (" + kind + ")"
	}
	if len(full) <= longestName {
		return full
	}
	digest := sha256.Sum256([]byte(full))
	return strings.ToValidUTF8(full[:longestName-17], "") + "~" + hex.EncodeToString(digest[:8])
}

// printable reports whether a snapshot can contain the text.
func printable(s string) bool {
	return namecheck.OK(s)
}
