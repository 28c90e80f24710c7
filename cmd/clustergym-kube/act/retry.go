package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	attempts     = 4                     // one and three more
	firstPause   = 50 * time.Millisecond // doubled from attempt to attempt
	longestPause = 10 * time.Second      // however long the server asks to wait
)

// try calls do until it succeeds, fails for a reason that does not pass, or has failed attempts times. It returns the last
// error, with the context's if that ended it.
func try(ctx context.Context, do func() error) error {
	pause := firstPause
	var err error
	for i := range attempts {
		if i > 0 {
			wait := pause
			if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
				wait = min(max(wait, time.Duration(seconds)*time.Second), longestPause)
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			pause *= 2
		}
		if over := ctx.Err(); over != nil {
			if err == nil {
				return over
			}
			return fmt.Errorf("%w: %w", over, err)
		}
		if err = do(); err == nil || !passes(err) {
			return err
		}
	}
	return err
}

// passes tells whether the reason for an error may be over soon: the server is busy, away or in trouble, or another was
// faster to write the same object. What a disruption budget refuses is left to the caller, for it may take long.
func passes(err error) bool {
	if errors.Is(err, ErrBudget) {
		return false
	}
	if code := status(err); code != 0 {
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusConflict ||
			code == http.StatusRequestTimeout
	}
	return utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) || utilnet.IsConnectionRefused(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// status is the HTTP code of the server's answer, 0 if err is not one.
func status(err error) int {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return 0
	}
	return int(answer.Status().Code)
}
