package gang

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/clustergym/clustergym/env/pods"
)

// Discover returns which APIs for groups the server has: of pods.Native, pods.Plugins, pods.Volcano and pods.KAI, in that order.
func Discover(client discovery.ServerResourcesInterface) ([]string, error) {
	var served []string
	for _, version := range []string{pods.Native, pods.Plugins, pods.Volcano, pods.KAI} {
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
