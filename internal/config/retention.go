package config

import "time"

// RetentionAges are the maximum ages of stored rows; 0 means no limit. The variables are
// LOADAWARE_KEEP_OBSERVATIONS and so on.
type RetentionAges struct {
	Observations time.Duration `envconfig:"OBSERVATIONS"` // only those that no training reads
	Receipts     time.Duration `envconfig:"RECEIPTS"`
	Experiments  time.Duration `envconfig:"EXPERIMENTS"` // only those without a name
}

// defaultRetention returns the ages of Defaults. The Helm chart sets the same ages (keep in scripts/deploy/chart/values.yaml).
func defaultRetention() RetentionAges {
	const day = 24 * time.Hour
	return RetentionAges{Observations: 365 * day, Receipts: 90 * day, Experiments: 365 * day}
}
