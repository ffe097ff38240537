package httpapi

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxBatch is how many items are taken at once.
const maxBatch = 10_000

func checkBatch(field string, n int) error {
	if n == 0 || n > maxBatch {
		var f form
		f.add(field, "must hold 1 to %d items", maxBatch)
		return failed(f.bad)
	}
	return nil
}

// decodeBatch reads a batch whose items stand in the named list. They are left where
// they are in the body; a list that is too long is given up at once, since ten million items
// of a byte each would take thirty times as much to point at.
func (s *server) decodeBatch(r *http.Request, field string, items *[]stdjson.RawMessage, body any) error {
	raw, err := wholeBody(r)
	if err != nil {
		return readFailure(err)
	}
	if found, plain := quickItems(raw, field); plain {
		*items = found
		return nil
	}
	list := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, items *[]stdjson.RawMessage) error {
		if dec.PeekKind() != '[' {
			return errors.ErrUnsupported // v2 has the words for the error
		}
		_, err := dec.ReadToken()
		for err == nil && dec.PeekKind() != ']' {
			if len(*items) == maxBatch {
				return checkBatch(field, maxBatch+1)
			}
			var item jsontext.Value
			item, err = dec.ReadValue()
			end := dec.InputOffset()
			*items = append(*items, raw[end-int64(len(item)):end:end])
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
		return err
	})
	return readFailure(json.Unmarshal(raw, body, s.strict, json.WithUnmarshalers(list)))
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
