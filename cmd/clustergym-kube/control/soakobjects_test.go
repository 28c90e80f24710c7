package control

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"
)

func (a *memory) doMap(action ktesting.Action, group schema.GroupResource) (runtime.Object, error) {
	switch x := action.(type) {
	case ktesting.GetActionImpl:
		if m := a.maps[x.GetNamespace()+"/"+x.GetName()]; m != nil {
			return m, nil
		}
		return nil, apierrors.NewNotFound(group, x.GetName())
	case ktesting.CreateActionImpl:
		m := x.GetObject().(*corev1.ConfigMap).DeepCopy()
		if a.maps[key(m)] != nil {
			return nil, apierrors.NewAlreadyExists(group, m.Name)
		}
		a.putMap(m)
		return m, nil
	case ktesting.UpdateActionImpl:
		m := x.GetObject().(*corev1.ConfigMap).DeepCopy()
		switch old := a.maps[key(m)]; {
		case old == nil:
			return nil, apierrors.NewNotFound(group, m.Name)
		case m.ResourceVersion != "" && m.ResourceVersion != old.ResourceVersion:
			return nil, apierrors.NewConflict(group, m.Name, fmt.Errorf("version is %s, not %s", old.ResourceVersion, m.ResourceVersion))
		}
		a.putMap(m)
		return m, nil
	}
	return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
}

// patch is what the program may change of a node or of a Job.
type patch struct {
	Metadata struct {
		ResourceVersion string             `json:"resourceVersion"`
		Labels          map[string]*string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Taints      *[]corev1.Taint `json:"taints"`
		Parallelism *int32          `json:"parallelism"`
	} `json:"spec"`
}

// readPatch reads a merge patch of an object. Like the real server, it refuses one of another version than the object's.
func readPatch(text []byte, group schema.GroupResource, of metav1.Object) (*patch, error) {
	p := new(patch)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if p.Metadata.ResourceVersion != of.GetResourceVersion() {
		return nil, apierrors.NewConflict(group, of.GetName(), fmt.Errorf("version is %s", of.GetResourceVersion()))
	}
	return p, nil
}

func (a *memory) doNode(action ktesting.Action, group schema.GroupResource) (runtime.Object, error) {
	name := action.(interface{ GetName() string }).GetName()
	n := a.nodes[name]
	if n == nil {
		return nil, apierrors.NewNotFound(group, name)
	}
	x, patches := action.(ktesting.PatchActionImpl)
	if !patches {
		return n, nil
	}
	p, err := readPatch(x.GetPatch(), group, n)
	if err != nil {
		return nil, err
	}
	was, is := n, n.DeepCopy()
	for label, value := range p.Metadata.Labels {
		if delete(is.Labels, label); value != nil {
			metav1.SetMetaDataLabel(&is.ObjectMeta, label, *value)
		}
	}
	if p.Spec.Taints != nil {
		is.Spec.Taints = *p.Spec.Taints
	}
	a.marked(was, is)
	a.putNode(is)
	return is, nil
}

func (a *memory) doJob(action ktesting.Action, group schema.GroupResource) (runtime.Object, error) {
	name := action.(interface{ GetName() string }).GetName()
	j := a.jobs[action.GetNamespace()+"/"+name]
	if j == nil {
		return nil, apierrors.NewNotFound(group, name)
	}
	x, patches := action.(ktesting.PatchActionImpl)
	if !patches {
		return j, nil
	}
	p, err := readPatch(x.GetPatch(), group, j)
	if err != nil {
		return nil, err
	}
	j = j.DeepCopy()
	j.Spec.Parallelism = p.Spec.Parallelism
	a.scaled(j)
	a.putJob(j)
	return j, nil
}
