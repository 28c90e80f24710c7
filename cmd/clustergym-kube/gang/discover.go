package gang

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// Discover returns which of NativeVersion and CRDVersion the server has, in that order.
func Discover(client discovery.ServerResourcesInterface) ([]string, error) {
	var served []string
	for _, version := range []string{NativeVersion, CRDVersion} {
		list, err := client.ServerResourcesForGroupVersion(version)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("discover %s: %w", version, err)
		case slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "podgroups" }):
			served = append(served, version)
		}
	}
	return served, nil
}
