package service

import (
	"context"
	"errors"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// refusedFor is how long one refused report is believed to speak for the next, where
// none is told: a database on a full disk answers every question but stores nothing.
const refusedFor = 10 * time.Second

// heed notes whether the store took reports.
func (s *Service) heed(ctx context.Context, err error) {
	switch {
	case err == nil:
		s.refused.Store(0)
	case isKind(err, sizing.Unavailable) && !errors.Is(ctx.Err(), context.Canceled): // by a caller who went away
		s.refused.Store(s.cfg.Now().UnixNano())
	}
}

// refusing reports whether the last report was refused, and lately.
func (s *Service) refusing() bool {
	at := s.refused.Load()
	return at > 0 && s.cfg.Now().Sub(time.Unix(0, at)) < refusedFor
}
