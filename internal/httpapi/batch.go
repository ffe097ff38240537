package httpapi

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxBatch is how many items are taken at once.
const maxBatch = 10_000

func checkBatch(field string, n int) error {
	if n == 0 || n > maxBatch {
		var f form
		f.add(field, "must hold 1 to %d items, not %d", maxBatch, n)
		return failed(f.bad)
	}
	return nil
}

// decodeItem reads one item of a batch. Its syntax is known to be good.
func (s *server) decodeItem(raw []byte, body any) error {
	return readFailure(json.Unmarshal(raw, body, s.strict))
}

// itemProblem tells why one item failed, its fields named behind prefix.
func (s *server) itemProblem(ctx context.Context, err error, prefix string) *api.Problem {
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		s.log.ErrorContext(ctx, "an item failed", "request_id", callOf(ctx).id, "item", prefix, "err", err)
	}
	if f.class == malformed && len(f.fields) == 0 {
		// The whole is well formed, so what cannot be read is the item itself.
		f = failed([]sizing.FieldError{{Detail: f.detail}})
	}
	return f.problem(prefix)
}
