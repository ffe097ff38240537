package bayes

// Shift adds a number to the log peaks of all learned rows. The bounds of the killed runs do not change.
func (a *Average) Shift(by float64) {
	a.Mean += by
	for i := range a.Lines {
		a.Lines[i].Y += by
	}
	for i := range a.Affines {
		a.Affines[i].shift(by)
	}
	for i := range a.Modes.Modes {
		a.Modes.Modes[i].Mean += by
	}
}
