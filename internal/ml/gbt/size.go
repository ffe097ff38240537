package gbt

import "unsafe"

// MemoryBytes returns the approximate size of the model in memory.
func (r *Regressor) MemoryBytes() int64 {
	if r.packed == nil {
		return r.bytes()
	}
	return r.bytes() + r.packed.bytes()
}

func (f *forest) bytes() int64 {
	return int64(unsafe.Sizeof(*f)) + int64(cap(f.nodes))*int64(unsafe.Sizeof(node{})) +
		int64(4*(cap(f.roots)+cap(f.cover32))+cap(f.depth)+8*(cap(f.cover)+cap(f.intercept)))
}
