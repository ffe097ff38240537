package config

import "time"

// RetentionAges are the maximum ages of stored rows; 0 means no limit. The variables are
// LOADAWARE_KEEP_OBSERVATIONS and so on.
type RetentionAges struct {
	Observations time.Duration `split_words:"true"` // only those that no training reads
	Receipts     time.Duration `split_words:"true"`
	Experiments  time.Duration `split_words:"true"` // only those without a name
}
