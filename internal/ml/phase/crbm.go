package phase

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// ErrShape reports missing series or windows, and windows with a wrong number of values.
var ErrShape = errors.New("phase: shapes do not match")

// Training configures Train. The zero value is usable.
type Training struct {
	Delay    int     // number of steps before the last one of a window; 3 if zero
	Hidden   int     // hidden units; 10 if zero
	Rate     float64 // learning rate; 1e-3 if zero
	Momentum float64 // share of the previous update that is added to the next one; 0.9 if zero
	Epochs   int     // passes over the windows; 200 if zero
	Batch    int     // windows per update; 64 if zero
	Seed     uint64  // seed of all random numbers
}

func (c Training) withDefaults() Training {
	setDefault(&c.Delay, 3)
	setDefault(&c.Hidden, 10)
	setDefault(&c.Rate, 1e-3)
	setDefault(&c.Momentum, 0.9)
	setDefault(&c.Epochs, 200)
	setDefault(&c.Batch, 64)
	return c
}

func setDefault[T int | float64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Machine is a Gaussian conditional restricted Boltzmann machine (Taylor, Hinton & Roweis 2006)
// with unit variance. The visible units hold one step, and the conditions hold the Delay steps
// before it. Matrices are in row-major order: a row holds the weights of one input unit.
type Machine struct {
	Visible, Delay, Hidden int       // numbers of visible units, of steps before them, and of hidden units
	W                      []float64 // Visible × Hidden: weights between visible and hidden units
	A                      []float64 // Visible·Delay × Visible: weights of the conditions in the visible biases
	B                      []float64 // Visible·Delay × Hidden: weights of the conditions in the hidden biases
	VisibleBias            []float64
	HiddenBias             []float64

	velocity *Machine // newest update of each parameter, for the momentum; nil: all zero
}

func (m *Machine) isUsable() bool {
	return m.Visible > 0 && m.Delay >= 0 && m.Hidden > 0 &&
		len(m.W) == m.Visible*m.Hidden && len(m.A) == m.Visible*m.Delay*m.Visible && len(m.B) == m.Visible*m.Delay*m.Hidden &&
		len(m.VisibleBias) == m.Visible && len(m.HiddenBias) == m.Hidden
}

// NewMachine returns a machine with weights drawn from N(0, 0.01²).
func NewMachine(visible, delay, hidden int, rng *rand.Rand) *Machine {
	m := zeroMachine(visible, delay, hidden)
	m.velocity = zeroMachine(visible, delay, hidden)
	for _, weights := range [][]float64{m.W, m.A, m.B} {
		for i := range weights {
			weights[i] = 0.01 * rng.NormFloat64()
		}
	}
	return m
}

func zeroMachine(visible, delay, hidden int) *Machine {
	past := visible * delay
	return &Machine{
		Visible: visible, Delay: delay, Hidden: hidden,
		W: make([]float64, visible*hidden), A: make([]float64, past*visible), B: make([]float64, past*hidden),
		VisibleBias: make([]float64, visible), HiddenBias: make([]float64, hidden),
	}
}

// Train fits a machine to windows of (Delay+1) · visible values, oldest step first. `visible` is the number
// of values of a step. Values should be standardised. Train returns ErrShape if there are no windows or
// their lengths are wrong.
func Train(windows [][]float64, visible int, c Training) (*Machine, error) {
	c = c.withDefaults()
	if err := checkWindows(windows, visible*(c.Delay+1)); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0xc4b3))
	m := NewMachine(visible, c.Delay, c.Hidden, rng)
	order := rng.Perm(len(windows))
	batch, draws := make([][]float64, 0, c.Batch), make([]float64, c.Batch*c.Hidden)
	for range c.Epochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for from := 0; from < len(order); from += c.Batch {
			batch = batch[:0]
			for _, i := range order[from:min(from+c.Batch, len(order))] {
				batch = append(batch, windows[i])
			}
			for i := range draws[:len(batch)*c.Hidden] {
				draws[i] = rng.Float64()
			}
			m.Update(batch, draws, c.Rate, c.Momentum)
		}
	}
	return m, nil
}

func checkWindows(windows [][]float64, length int) error {
	if len(windows) == 0 {
		return fmt.Errorf("%w: no windows", ErrShape)
	}
	for i, w := range windows {
		if len(w) != length {
			return fmt.Errorf("%w: window %d has %d values, want %d", ErrShape, i, len(w), length)
		}
	}
	return nil
}

// Update makes one step of contrastive divergence (CD-1, Hinton 2002) with momentum. `draws` has
// one uniform number in [0, 1) for each window and hidden unit. A hidden unit is on if its number is below
// its probability. The reconstruction uses the mean of the visible units.
func (m *Machine) Update(batch [][]float64, draws []float64, rate, momentum float64) {
	gradient := zeroMachine(m.Visible, m.Delay, m.Hidden)
	s := m.scratch()
	for i, window := range batch {
		past, now := m.split(window)
		m.condition(past, s)
		m.activate(now, s, s.before)
		m.reconstruct(s.before, draws[i*m.Hidden:(i+1)*m.Hidden], s)
		m.activate(s.visible, s, s.after)
		gradient.accumulate(past, now, s)
	}
	if m.velocity == nil {
		m.velocity = zeroMachine(m.Visible, m.Delay, m.Hidden)
	}
	scale := rate / float64(len(batch))
	parameters, gradients, velocities := m.parameters(), gradient.parameters(), m.velocity.parameters()
	for p := range parameters {
		for i := range parameters[p] {
			velocities[p][i] = momentum*velocities[p][i] + scale*gradients[p][i]
			parameters[p][i] += velocities[p][i]
		}
	}
}

type scratch struct {
	visibleBias, hiddenBias []float64 // biases plus the effect of the conditions
	before, after           []float64 // probabilities of the hidden units for the data and for the reconstruction
	visible                 []float64 // reconstruction
}

func (m *Machine) scratch() *scratch {
	return &scratch{
		visibleBias: make([]float64, m.Visible), hiddenBias: make([]float64, m.Hidden),
		before: make([]float64, m.Hidden), after: make([]float64, m.Hidden), visible: make([]float64, m.Visible),
	}
}

func (m *Machine) parameters() [5][]float64 {
	return [...][]float64{m.W, m.A, m.B, m.VisibleBias, m.HiddenBias}
}

func (m *Machine) split(window []float64) (past, now []float64) {
	at := m.Visible * m.Delay
	return window[:at], window[at:]
}

func (m *Machine) condition(past []float64, s *scratch) {
	copy(s.visibleBias, m.VisibleBias)
	copy(s.hiddenBias, m.HiddenBias)
	addProduct(s.visibleBias, past, m.A)
	addProduct(s.hiddenBias, past, m.B)
}

func (m *Machine) activate(visible []float64, s *scratch, into []float64) {
	copy(into, s.hiddenBias)
	addProduct(into, visible, m.W)
	for i, v := range into {
		into[i] = 1 / (1 + math.Exp(-v))
	}
}

func (m *Machine) reconstruct(probabilities, draws []float64, s *scratch) {
	copy(s.visible, s.visibleBias)
	for j, p := range probabilities {
		if draws[j] >= p {
			continue
		}
		for i := range s.visible {
			s.visible[i] += m.W[i*m.Hidden+j]
		}
	}
}

func (m *Machine) accumulate(past, now []float64, s *scratch) {
	for i := range now {
		for j := range s.before {
			m.W[i*m.Hidden+j] += now[i]*s.before[j] - s.visible[i]*s.after[j]
		}
		m.VisibleBias[i] += now[i] - s.visible[i]
	}
	for j := range s.before {
		m.HiddenBias[j] += s.before[j] - s.after[j]
	}
	for k, u := range past {
		for i := range now {
			m.A[k*m.Visible+i] += u * (now[i] - s.visible[i])
		}
		for j := range s.before {
			m.B[k*m.Hidden+j] += u * (s.before[j] - s.after[j])
		}
	}
}

// addProduct adds the product of the row vector x and the matrix to the vector `into`.
func addProduct(into, x, matrix []float64) {
	n := len(into)
	for i, v := range x {
		for j, w := range matrix[i*n : (i+1)*n] {
			into[j] += v * w
		}
	}
}

// Encode returns the probabilities of the hidden units for one window.
func (m *Machine) Encode(window []float64) []float64 {
	s := m.scratch()
	past, now := m.split(window)
	m.condition(past, s)
	m.activate(now, s, s.before)
	return s.before
}
