//go:build endurance

package endurance

import (
	"errors"
	"testing"
)

// TestVerdicts: what mortals know of a request decides whether it may fail. All of the
// test hangs on that, so it is tested itself.
func TestVerdicts(t *testing.T) {
	get, post := query{}, query{method: "POST", body: []byte{}}
	bad, half := error(wrong{502, "502"}), error(broken{errors.New("EOF")})
	var (
		whole    = attempt{read: true, wrote: 9, whole: true, over: true}
		stale    = attempt{cut: true, over: true}
		cut      = attempt{read: true, cut: true, over: true}
		begun    = attempt{read: true, wrote: 4, cut: true, over: true}
		lost     = attempt{read: true, wrote: 4, cut: true, reset: true, over: true}
		dropped  = attempt{read: true, wrote: 4, over: true} // by the daemon
		newWhole = attempt{first: true, read: true, wrote: 9, whole: true, over: true}
		newCut   = attempt{first: true, read: true, cut: true, over: true}
	)
	for say, try := range map[string]struct {
		q       query
		seen    []attempt
		err     error
		blinked bool
		right   bool
	}{
		"answered":                                    {get, []attempt{whole}, nil, false, true},
		"answered by nobody":                          {get, nil, nil, false, false},
		"answered though it was cut":                  {get, []attempt{begun}, nil, false, false},
		"answered, the reset came late":               {get, []attempt{lost}, nil, false, true},
		"repeated":                                    {get, []attempt{stale, newWhole}, nil, false, true},
		"repeated after a reset":                      {get, []attempt{lost, newWhole}, nil, false, true},
		"repeated, cut again":                         {get, []attempt{stale, newCut}, bad, false, true},
		"repeated on a connection that was kept":      {get, []attempt{stale, whole}, nil, false, false},
		"repeated after an answer had begun":          {get, []attempt{begun, newWhole}, nil, false, false},
		"repeated after an answer":                    {get, []attempt{whole, newWhole}, nil, false, false},
		"repeated though the first one was new":       {get, []attempt{newCut, newWhole}, nil, false, false},
		"repeated twice":                              {get, []attempt{stale, stale, newWhole}, nil, false, false},
		"a POST repeated":                             {post, []attempt{stale, newWhole}, nil, false, false},
		"an answer that was whole and did not come":   {get, []attempt{whole}, bad, false, false},
		"an answer that was whole and broke off":      {post, []attempt{newWhole}, half, false, false},
		"an answer that was cut":                      {get, []attempt{begun}, half, false, true},
		"not repeated":                                {get, []attempt{stale}, bad, false, false},
		"not repeated, its backend had begun with it": {get, []attempt{cut}, bad, false, false},
		"new, and cut":                                {get, []attempt{newCut}, bad, false, true},
		"a POST on a connection that had ended":       {post, []attempt{stale}, bad, false, true},
		"a POST that was cut":                         {post, []attempt{cut}, bad, false, true},
		"dropped by the daemon":                       {get, []attempt{dropped}, half, false, false},
		"lost unseen":                                 {get, nil, bad, false, false},
		"lost while a listener ended":                 {get, nil, bad, true, true},
		"another failure":                             {post, []attempt{cut}, errors.New("no answer"), true, false},
	} {
		if err := judged(try.q, try.seen, try.err, try.blinked); (err == nil || errors.As(err, &excused{})) != try.right {
			t.Errorf("%s: %v", say, err)
		}
	}
}
