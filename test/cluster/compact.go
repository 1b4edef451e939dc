//go:build linux

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Compact makes etcd forget everything but the present, so that no watch can go on
// from where it was: an API server that is started after it answers 410.
func (c *Cluster) Compact(ctx context.Context) error {
	var now struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	// Any request tells the revision. The key need not exist.
	if err := c.etcdCall(ctx, "kv/range", map[string]any{"key": []byte("x")}, &now); err != nil {
		return fmt.Errorf("ask etcd for its revision: %w", err)
	}
	if err := c.etcdCall(ctx, "kv/compaction", map[string]any{"revision": now.Header.Revision, "physical": true}, nil); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	return nil
}

// etcdCall uses the JSON form of etcd's API.
func (c *Cluster) etcdCall(ctx context.Context, method string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.etcdAt+"/v3/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", method, r.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(r.Body).Decode(out)
}
