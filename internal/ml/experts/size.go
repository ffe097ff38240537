package experts

import "unsafe"

// MemoryBytes returns the approximate size of the experts in memory.
func (x *Experts) MemoryBytes() int64 {
	size := int64(unsafe.Sizeof(*x)) + int64(cap(x.Rows)+cap(x.LowOutliers))*int64(unsafe.Sizeof(Entry{})) + int64(cap(x.Picks))*int64(unsafe.Sizeof(Pick{}))
	for i := range x.windows {
		size += 8*int64(cap(x.windows[i].values)) + 2*int64(cap(x.windows[i].rows))
	}
	for k := range x.levels {
		size += 2 * int64(cap(x.levels[k].order)+cap(x.levels[k].byResidual))
	}
	return size
}

// MemoryBytes returns the size of the values in memory, without the Window itself.
func (w *Window) MemoryBytes() int64 { return 8 * int64(cap(w.Sorted)+cap(w.Ring)) }
