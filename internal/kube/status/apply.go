package status

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apply "k8s.io/client-go/applyconfigurations/networking/v1"
	client "k8s.io/client-go/kubernetes/typed/networking/v1"

	"ramjet.dev/ingress/internal/kube/watch"
)

// Write carries a change out, by server-side apply: the API server notes that the status
// is ours, and takes exactly that away when it is cleared. An Ingress of that name that
// is another one by now is left alone, as is one of another version if the change is for
// one only.
//
// It is forced: the addresses are of whoever serves the Ingress, and a predecessor of
// another name may have left its own.
func Write(ctx context.Context, c client.IngressesGetter, change Change) error {
	config := apply.Ingress(change.Name.Name, change.Name.Namespace).WithUID(change.UID)
	if change.Version != "" {
		config = config.WithResourceVersion(change.Version)
	}
	if len(change.Addresses) > 0 {
		config = config.WithStatus(apply.IngressStatus().WithLoadBalancer(balancer(change.Addresses)))
	}
	_, err := c.Ingresses(change.Name.Namespace).ApplyStatus(ctx, config, metav1.ApplyOptions{FieldManager: watch.FieldManager, Force: true})
	return err
}

func balancer(addresses []networkingv1.IngressLoadBalancerIngress) *apply.IngressLoadBalancerStatusApplyConfiguration {
	status := apply.IngressLoadBalancerStatus()
	for _, a := range addresses {
		one := apply.IngressLoadBalancerIngress()
		if a.IP != "" {
			one.WithIP(a.IP)
		}
		if a.Hostname != "" {
			one.WithHostname(a.Hostname)
		}
		for _, p := range a.Ports {
			port := apply.IngressPortStatus().WithPort(p.Port).WithProtocol(p.Protocol)
			if p.Error != nil {
				port.WithError(*p.Error)
			}
			one.WithPorts(port)
		}
		status.WithIngress(one)
	}
	return status
}
