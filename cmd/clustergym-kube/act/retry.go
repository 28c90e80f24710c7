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
	attempts     = 4                     // the first one and three retries
	firstPause   = 50 * time.Millisecond // doubles after each attempt
	longestPause = 10 * time.Second      // even if the server asks for a longer wait
)

// try calls the function do until it succeeds, fails for a reason that is not temporary, or has failed as many times as the
// constant attempts. It returns the last error, wrapped with the context's error if the context ended the retries.
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

// passes reports whether the reason for an error is temporary: the server is busy, unreachable or in trouble, or somebody else
// wrote the same object first. An eviction that a disruption budget refuses does not count, because it may be refused for long:
// the caller decides when to retry.
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

// status returns the HTTP status code of the server's answer in err, or 0 if err contains none.
func status(err error) int {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return 0
	}
	return int(answer.Status().Code)
}
