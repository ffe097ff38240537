package importer

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// unitError returns the error of a file whose peaks have another unit, or nil. Such a file is not imported, because stored rows
// in a wrong unit cannot be corrected: the same rows in the right unit contradict them.
func unitError(units *file.UnitCheck) error {
	rows := units.SmallPeaks()
	if rows == 0 {
		return nil
	}
	return sizing.Errorf(sizing.Invalid, "%s: every peak read is below 1 MiB, so nothing of the file was imported; "+
		"name the unit, such as --unit MiB, or --unit B if the peaks are in bytes", inAnotherUnit(rows))
}

func inAnotherUnit(rows int) string {
	if rows == 1 {
		return "1 row is probably in another unit"
	}
	return fmt.Sprintf("%d rows are probably in another unit", rows)
}

// unitRows counts the successes whose peak is probably in another unit: the peak is below 1 MiB and less than
// 1/minUnitFactor of the allocation or, if the allocation is unknown, of the request.
type unitRows struct {
	rows int            // number of such successes
	fits map[string]int // by unit: number of such successes whose peak in that unit is at most the allocation or request
}

// minUnitFactor is the ratio of the allocation (or request) to the peak above which another unit is likely. Neighbouring
// units, such as kB and MB, differ by at least 1,000; 900 leaves a tolerance for peaks above the allocation.
const minUnitFactor = 900

// likelyUnits are the suggested values of --unit, the largest first.
var likelyUnits = []struct {
	name  string
	bytes sizing.Bytes
}{{"GiB", sizing.GiB}, {"MiB", sizing.MiB}, {"KiB", sizing.KiB}}

func (u *unitRows) add(o *sizing.Observation) {
	scale := o.Allocated.Memory
	if scale == 0 {
		scale = o.Requested.Memory
	}
	peak := max(o.MemoryMax, o.MemorySampled)
	if o.Outcome != sizing.Success || peak == 0 || peak >= sizing.MiB || float64(peak)*minUnitFactor >= float64(scale) {
		return
	}
	u.rows++
	for _, unit := range likelyUnits {
		if peak.Times(float64(unit.bytes)) <= scale {
			if u.fits == nil {
				u.fits = map[string]int{}
			}
			u.fits[unit.name]++
		}
	}
}

// warning returns a warning that names the largest unit in which all counted peaks are at most the allocation or
// request. If there is no such unit, the warning names no unit. It is empty for fewer than two rows, which may be chance.
func (u *unitRows) warning() string {
	if u.rows < 2 {
		return ""
	}
	for _, unit := range likelyUnits {
		if u.fits[unit.name] == u.rows {
			return inAnotherUnit(u.rows) + ": --unit " + unit.name
		}
	}
	return inAnotherUnit(u.rows) + ": see --unit"
}
