package importer

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
)

// unitRows counts the successes in a file whose peaks are so far below the allocation or the
// request that the memory columns probably have another unit.
type unitRows struct {
	rows int            // number of such successes
	fits map[string]int // by unit: number of rows whose peak in that unit fits the allocation
}

// minUnitFactor is the smallest ratio of allocation to peak that suggests another unit.
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

// warning returns a warning that names the largest unit in which all counted rows fit their
// allocation. It is empty for fewer than two rows.
func (u *unitRows) warning() string {
	if u.rows < 2 {
		return ""
	}
	for _, unit := range likelyUnits {
		if u.fits[unit.name] == u.rows {
			return fmt.Sprintf("%d rows look like another unit: --unit %s", u.rows, unit.name)
		}
	}
	return fmt.Sprintf("%d rows look like another unit: see --unit", u.rows)
}
