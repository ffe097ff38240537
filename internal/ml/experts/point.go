package experts

import "github.com/loadaware/loadaware/internal/ml/bayes"

// The models that predict a peak, in the order of Point.Level. Package taskmodel fits them and
// predicts with them (models.go, predict.go). A new model needs a new taskmodel.FormatVersion,
// because stored snapshots have one entry per model.
const (
	Median    = iota // median of the newest peaks
	Line             // ridge regression of the log peak on the encoded features
	Trees            // boosted trees
	LineTrees        // Line, and trees boosted on its residual
	Same             // mean of rows with identical features, shrunk to LineTrees
	Plain            // ridge regression of the peak itself
	Fresh            // like Same, with an exponentially smoothed mean (factor 1/2)
	Stack            // LineTrees, corrected by its differences from Line, Trees, Same and Fresh and by its recent errors
	ModelCount
)

// ModelNames holds the names of the models for reasons and explanations.
var ModelNames = [ModelCount]string{
	"median", "log-linear", "boosted trees", "log-linear + boosted trees", "same inputs", "linear", "last same inputs", "stack",
}

// The predicted scales of a residual, in the order of Point.Scale.
const (
	TreeScale = iota // scale of the residual, as trees predict it
	SameScale        // scale among rows with identical features, shrunk to 1.5 · TreeScale
	ScaleCount
)

// Point holds the predictions for one row, made before its peak is known.
type Point struct {
	_         struct{}            `cbor:",toarray"` // compact, because a stored model contains many
	Level     [ModelCount]float64 // predicted log peak, by model
	Scale     [ScaleCount]float64 // predicted scales of the residual, > 0, in log peak
	Duration  float64             // predicted log1p of the run time in seconds
	MinAmount float64             `cbor:"-"` // lower bound of every answer, in the unit of the peak; 0: none
	Repeats   Repeats             `cbor:"-"` // earlier rows with the same features or, if these are few, with the same recurring features
	Imputed   bool                `cbor:"-"` // some features are imputed, so Learn adds no loss of this row to the experts
	ColdStart *bayes.Mixture      `cbor:"-"` // prediction of the cold-start rule; nil: none
	Cold      ColdStartAnswer     `cbor:"-"` // answer of the cold-start rule for Learn if ColdStart is nil; zero: none

	KilledRuns int `cbor:"-"` // number of runs with the same features that were killed, if none has succeeded; otherwise 0; see AfterKills

	IsException bool `cbor:"-"` // the row has a rare value of a category or bool, or a rarely present feature, about which the weights of the experts say little
}
