package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory. Zero means that a used, requested or granted amount is unknown, or that a limit is not set.
type Bytes int64

// Binary units, as Kubernetes writes them.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// MaxBytes is the largest amount of memory that the API accepts (8 PiB). It is far above the memory of any node. Products of
// it with usual margins do not overflow an int64.
const MaxBytes = 8 << 50

// Times multiplies b by f. It rounds up, because a grant may be too large but never too small, and
// returns at most MaxBytes.
func (b Bytes) Times(f float64) Bytes {
	scaled := math.Ceil(float64(b) * f)
	if scaled >= MaxBytes {
		return MaxBytes
	}
	return Bytes(scaled)
}

// RoundUp rounds b up to a multiple of `unit`: Bytes(1).RoundUp(MiB) is 1 MiB.
func (b Bytes) RoundUp(unit Bytes) Bytes {
	if rest := b % unit; rest > 0 {
		return b + unit - rest
	}
	return b
}

// String formats b exactly, as a Kubernetes quantity in the largest binary unit up to Ti
// that divides it: 10737418240 is "10Gi", 1000 is "1000".
func (b Bytes) String() string {
	if b != 0 {
		for _, u := range []struct {
			size   Bytes
			suffix string
		}{{TiB, "Ti"}, {GiB, "Gi"}, {MiB, "Mi"}, {KiB, "Ki"}} {
			if b%u.size == 0 {
				return strconv.FormatInt(int64(b/u.size), 10) + u.suffix
			}
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Approx formats b for people, rounded to three significant digits from 1 KiB on: "10Gi", "1.46Gi",
// "310Mi". It does not round away digits before the point: "1023Mi".
func (b Bytes) Approx() string {
	for _, u := range []struct {
		size   Bytes
		suffix string
	}{{TiB, "Ti"}, {GiB, "Gi"}, {MiB, "Mi"}, {KiB, "Ki"}} {
		if b >= u.size {
			v := float64(b) / float64(u.size)
			digits := 2
			if v >= 100 {
				digits = 0
			} else if v >= 10 {
				digits = 1
			}
			text := strconv.FormatFloat(v, 'f', digits, 64)
			if digits > 0 {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Cores is an amount of CPU. Zero means unknown.
type Cores float64

// MaxCores is the largest amount of CPU that the API accepts.
const MaxCores Cores = 1 << 20

// String formats c as a Kubernetes quantity, rounded up to a whole millicore:
// 1 is "1", 0.25 is "250m".
func (c Cores) String() string {
	milli := int64(math.Ceil(float64(c)*1000 - 1e-9))
	if c > 0 {
		milli = max(milli, 1) // any CPU above zero is at least 1m
	}
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// suffixes are the multipliers of Kubernetes quantities
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
var suffixes = []struct {
	suffix string
	factor float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50}, {"Ei", 1 << 60},
	{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
}

// ParseMemory reads a Kubernetes memory quantity such as "350Gi", "1.5G" or
// "1e9", and rounds a fraction of a byte up. The error quotes s and names the problem.
func ParseMemory(s string) (Bytes, error) {
	v, err := parseQuantity(s, "350Gi or 1500M")
	if err != nil {
		return 0, err
	}
	if v <= 0 {
		return 0, fmt.Errorf("%q must be above zero", s)
	}
	whole, err := strconv.ParseInt(s, 10, 64) // a float64 rounds 2^53 + 1 down
	if v > MaxBytes || err == nil && whole > MaxBytes {
		return 0, fmt.Errorf("%q is above the maximum of 8Pi", s)
	}
	return Bytes(math.Ceil(v)), nil
}

// ParseCPU reads a Kubernetes CPU quantity such as "6", "0.5" or "250m". It raises an amount below
// a millicore to a millicore, as Kubernetes does. The error quotes s and names the problem.
func ParseCPU(s string) (Cores, error) {
	v, err := parseQuantity(s, "0.5 or 250m")
	if err != nil {
		return 0, err
	}
	if v <= 0 {
		return 0, fmt.Errorf("%q must be above zero", s)
	}
	if v > float64(MaxCores) {
		return 0, fmt.Errorf("%q is above the maximum of %v cores", s, float64(MaxCores))
	}
	return max(Cores(v), 0.001), nil
}

func parseQuantity(s, example string) (float64, error) {
	if len(s) == 0 || len(s) > 40 {
		return 0, fmt.Errorf("%.50q is not a quantity: write a number and a unit, such as %s", s, example)
	}
	number, factor := s, 1.0
	for _, u := range suffixes {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, factor = rest, u.factor
			break
		}
	}
	for _, r := range number {
		// ParseFloat also reads "inf", "0x1p4" and "1_000"; quantities do not.
		if (r < '0' || r > '9') && !strings.ContainsRune("+-.eE", r) {
			return 0, fmt.Errorf("%q is not a quantity: write a number and a unit, such as %s", s, example)
		}
	}
	if factor != 1 && strings.ContainsAny(number, "eE") {
		return 0, fmt.Errorf("%q is not a quantity: an exponent takes no unit", s)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a quantity: write a number and a unit, such as %s", s, example)
	}
	return v * factor, nil
}
