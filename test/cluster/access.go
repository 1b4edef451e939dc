//go:build linux

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Access is somebody who may talk to the API server.
type Access struct {
	// Name is the user's.
	Name string
	// Kubeconfig is the path of a file for kubectl and the daemon.
	Kubeconfig string
	// Config and Client are for Go. They are not throttled.
	Config *rest.Config
	Client *kubernetes.Clientset

	kubectl, dir string
}

// access writes a kubeconfig for a token. The server is the API server's address
// when via is empty, else via, a Proxy's.
func (c *Cluster) access(name, token, via string) (*Access, error) {
	if via == "" {
		via = c.serverAt
	}
	c.accounts++
	a := &Access{
		Name:       name,
		Kubeconfig: filepath.Join(c.dir, fmt.Sprintf("kubeconfig-%d", c.accounts)),
		Config: &rest.Config{
			Host: "https://" + via, BearerToken: token,
			TLSClientConfig: rest.TLSClientConfig{CAData: c.id.ca},
			QPS:             -1,
			WarningHandler:  rest.NoWarnings{}, // tests write what the API server frowns at
		},
		kubectl: c.program("kubectl"), dir: c.dir,
	}
	if err := os.WriteFile(a.Kubeconfig, kubeconfig(name, a.Config), 0o600); err != nil {
		return nil, fmt.Errorf("write a kubeconfig: %w", err)
	}
	var err error
	a.Client, err = kubernetes.NewForConfig(a.Config)
	return a, err
}

// kubeconfig is the text of one with a single context. JSON is YAML too.
func kubeconfig(user string, config *rest.Config) []byte {
	type named map[string]any
	text, err := json.MarshalIndent(named{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []named{{"name": "test", "cluster": named{
			"server": config.Host, "certificate-authority-data": config.CAData,
		}}},
		"users":    []named{{"name": user, "user": named{"token": config.BearerToken}}},
		"contexts": []named{{"name": "test", "context": named{"cluster": "test", "user": user}}},
	}, "", "  ")
	if err != nil {
		panic(err) // maps of strings
	}
	return text
}

// Via is the same user, who reaches the API server through a proxy.
func (c *Cluster) Via(p *Proxy, a *Access) (*Access, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.access(a.Name, a.Config.BearerToken, p.Address())
}

// ServiceAccount makes a ServiceAccount that has these rights and no others, as
// the pod of a Deployment would run under it: across is a ClusterRole, inside a
// Role of its own namespace. Called again it replaces the rights.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string, across, inside []rbac.PolicyRule) (*Access, error) {
	client := c.Admin.Client
	account := &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name}}
	if err := Put(ctx, client.CoreV1().ServiceAccounts(namespace), account); err != nil {
		return nil, err
	}
	if err := c.bind(ctx, namespace, name, across, inside); err != nil {
		return nil, fmt.Errorf("give the ServiceAccount %s/%s its rights: %w", namespace, name, err)
	}
	return c.Token(ctx, namespace, name)
}

// Token is the access of a ServiceAccount that exists, with the rights that it has.
func (c *Cluster) Token(ctx context.Context, namespace, name string) (*Access, error) {
	seconds := int64(24 * 60 * 60)
	token, err := c.Admin.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds}}, meta.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("get a token for the ServiceAccount %s/%s: %w", namespace, name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.access(namespace+"/"+name, token.Status.Token, "")
}

func (c *Cluster) bind(ctx context.Context, namespace, name string, across, inside []rbac.PolicyRule) error {
	api := c.Admin.Client.RbacV1()
	full := namespace + ":" + name
	subjects := []rbac.Subject{{Kind: rbac.ServiceAccountKind, Namespace: namespace, Name: name}}
	if err := Put(ctx, api.ClusterRoles(), &rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: full}, Rules: across}); err != nil {
		return err
	}
	if err := Put(ctx, api.ClusterRoleBindings(), &rbac.ClusterRoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: full}, Subjects: subjects,
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: full},
	}); err != nil {
		return err
	}
	here := meta.ObjectMeta{Namespace: namespace, Name: name}
	if err := Put(ctx, api.Roles(namespace), &rbac.Role{ObjectMeta: here, Rules: inside}); err != nil {
		return err
	}
	return Put(ctx, api.RoleBindings(namespace), &rbac.RoleBinding{
		ObjectMeta: here, Subjects: subjects,
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: name},
	})
}

// Kubectl runs kubectl and returns what it wrote to both outputs. stdin may be
// empty.
func (a *Access) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, a.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.Kubeconfig, "KUBECACHEDIR="+filepath.Join(a.dir, "kubectl"), "HOME="+a.dir)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out.Bytes()))
	}
	return out.String(), nil
}
