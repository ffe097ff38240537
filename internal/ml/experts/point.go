package experts

import "github.com/loadaware/loadaware/internal/ml/bayes"

// The models of a peak, in the order of Point.Level.
const (
	Median     = iota // of the newest peaks
	Line              // ridge of the log peak in log features
	Trees             // boosted trees
	LineTrees         // the line, and trees boosted on its residual
	Same              // rows with identical features, shrunk to LineTrees
	Plain             // least squares of the peak itself
	Fresh             // Same, with a short memory
	Stack             // LineTrees, corrected by what all others said lately
	ModelCount        // how many there are
)

// ModelNames are for reasons and reports.
var ModelNames = [ModelCount]string{
	"median", "log-linear", "boosted trees", "log-linear + boosted trees", "same inputs", "linear", "last same inputs", "stack",
}

// The scales by which residuals may be divided, in the order of Point.Scale.
const (
	TreeScale  = iota // spread of the residual, as trees predict it
	SameScale         // spread among rows of identical features, shrunk to the trees'
	ScaleCount        // how many there are
)

// Point is what the models say of a row before it is told.
type Point struct {
	_        struct{}            `cbor:",toarray"` // thousands are stored
	Level    [ModelCount]float64 // predicted log peak
	Scale    [ScaleCount]float64 // > 0, in log units
	Duration float64             // predicted log seconds
	Least    float64             `cbor:"-"` // no answer is below it, in the unit of the peak; 0: none
	Blind    bool                `cbor:"-"` // a cautious guess: nothing is learned of who made it
	Young    *bayes.Mixture      `cbor:"-"` // what the task's first rows and its siblings say; nil: nothing
}
