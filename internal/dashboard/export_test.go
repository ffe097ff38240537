package dashboard

import "context"

// Warm reads once what Run reads when the server starts.
func (d *Dashboard) Warm(ctx context.Context) error {
	for _, grants := range d.readerGrants() {
		if err := d.warm(ctx, grants); err != nil {
			return err
		}
	}
	return nil
}
