package sizing

import (
	"strings"
	"time"
)

// ReproductionPrefix begins the run id of every DAG run that a campaign starts. The mark of a reproduced run is in its run
// id, because every request to the service about the run contains this id.
const ReproductionPrefix = "loadaware_campaign__"

// ReproductionDate is the layout of the execution date in the run id of a reproduced run.
const ReproductionDate = "20060102T150405"

// IsReproduction reports whether a run reproduces an archived one. Reproduced runs train models,
// but do not count in the statistics of kills, promised risks and savings.
func IsReproduction(runID string) bool { return strings.HasPrefix(runID, ReproductionPrefix) }

// ReproducedAt returns the execution date of the archived run that a run reproduces. ok is false
// if the run reproduces none, or if its run id has no valid date.
//
//	loadaware_campaign__7__20200103T000000__a1b2c3d4e5f6__1
//	                    │  execution date   │             attempt
//	                    campaign            hash of scenario (the archived run's name) and conf
func ReproducedAt(runID string) (at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(runID, ReproductionPrefix)
	if !ok {
		return at, false
	}
	parts := strings.SplitN(rest, "__", 3)
	if len(parts) < 2 {
		return at, false
	}
	at, err := time.Parse(ReproductionDate, parts[1])
	return at, err == nil
}
