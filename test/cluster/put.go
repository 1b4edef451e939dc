//go:build linux

package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Writer is what every typed client of client-go can do.
type Writer[T any] interface {
	Create(context.Context, T, meta.CreateOptions) (T, error)
	Update(context.Context, T, meta.UpdateOptions) (T, error)
}

// Put makes an object, or makes the one of its name like it.
func Put[T any](ctx context.Context, w Writer[T], object T) error {
	_, err := w.Create(ctx, object, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		_, err = w.Update(ctx, object, meta.UpdateOptions{})
	}
	return err
}
