package experts

// Exclude removes an expert from all answers if the function selected returns true for the Name of the expert. At least
// one expert must remain.
func (x *Experts) Exclude(selected func(name string) bool) {
	x.excluded = new([Count]bool)
	for e := range Count {
		x.excluded[e] = selected(Name(e))
	}
}

func (x *Experts) isExcluded(e int) bool { return x.excluded != nil && x.excluded[e] }

// IgnoreShifts turns off the detection of changes of the task (Shift).
func (x *Experts) IgnoreShifts() { x.ignoresShifts = true }
