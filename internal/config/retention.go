package config

import "time"

// RetentionAges are the maximum ages of stored rows; 0 means no limit. The variables are
// LOADAWARE_KEEP_OBSERVATIONS and so on.
type RetentionAges struct {
	Observations time.Duration `envconfig:"OBSERVATIONS"` // only those that no training reads
	Receipts     time.Duration `envconfig:"RECEIPTS"`
	Experiments  time.Duration `envconfig:"EXPERIMENTS"` // only those without a name
}
