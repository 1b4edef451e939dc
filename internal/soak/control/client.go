package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// ErrNobody is the error of Ask when no supervisor listens.
var ErrNobody = errors.New("no supervisor is running")

// ErrCut is the error of Ask when the connection broke before there was a result.
var ErrCut = errors.New("the connection to the supervisor broke")

// Ask sends a request and hands out the replies, one after the other, until the
// result, which it returns. Nothing was asked if the error is ErrNobody.
func Ask(ctx context.Context, socket string, q Request, each func(Reply)) (Result, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		return Result{}, ErrNobody
	case errors.Is(err, syscall.EACCES):
		return Result{}, fmt.Errorf("connect to the supervisor: %w: run this as the user that runs it, or as root", err)
	case err != nil:
		return Result{}, fmt.Errorf("connect to the supervisor: %w", err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	line, err := json.Marshal(q)
	if err != nil {
		return Result{}, err
	}
	if _, err := c.Write(append(line, '\n')); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrCut, err)
	}
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadBytes('\n')
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if err != nil {
			return Result{}, fmt.Errorf("%w: %w", ErrCut, plainEnd(err))
		}
		var r Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return Result{}, fmt.Errorf("read the answer of the supervisor: %w", err)
		}
		if r.Result != nil {
			return *r.Result, nil
		}
		each(r)
	}
}

func plainEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it has ended")
	}
	return err
}
