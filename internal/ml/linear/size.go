package linear

// MemoryBytes returns the approximate size of the regression in memory.
func (o *Online) MemoryBytes() int64 {
	const header = 256 // size of the struct and its slice headers
	return int64(header + 8*(cap(o.moments.co.Data)+cap(o.moments.mean)+cap(o.delta)) + cap(o.known))
}

// MemoryBytes returns the approximate size of the regression in memory.
func (r *Ridge) MemoryBytes() int64 {
	const header = 64 // size of the struct
	return int64(header + 8*(cap(r.mean)+cap(r.coef)))
}
