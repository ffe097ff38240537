// Package trainer decides whose turn it is to learn, and publishes what was
// learned: due rows are leased with SKIP LOCKED by any replica, a model is fitted,
// and it is published by compare-and-swap.
//
// It knows the store's contract and package fitting, and nothing of HTTP or SQL.
package trainer

// Report says what a training came to.
type Report struct {
	Trained   bool
	Published bool
	Version   int // of the model that is active afterwards; 0 if none
	Reason    string
}

// Trainer trains tasks that are due.
type Trainer struct{}
