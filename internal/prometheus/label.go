package prometheus

import (
	"crypto/md5" //nolint:gosec // Airflow's choice; it tells names apart and protects nothing
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	maxLabel = 63 // of Kubernetes
	hashed   = 9  // hexadecimal digits of the hash
)

// SafeLabel is what Airflow's Kubernetes provider makes of an id for a pod's label:
// only letters, digits, '-', '_' and '.' stay, and what is not a letter or a digit
// is cut off both ends. Where that changed anything, or leaves more than 63
// characters, it is shortened to 53 and ends in "-" and 9 digits of the id's MD5.
//
//	etl                                   etl
//	manual__2026-01-03T02:00:00+00:00     manual__2026-01-03T0200000000-e9fc016fe
func SafeLabel(id string) string {
	safe := strip(id)
	if safe == id && len(safe) <= maxLabel {
		return safe
	}
	sum := md5.Sum([]byte(id)) //nolint:gosec // as above
	hash := hex.EncodeToString(sum[:])[:hashed]
	return safe[:min(len(safe), maxLabel-hashed-1)] + "-" + hash
}

// strip leaves what Kubernetes takes as a label, whatever its length.
func strip(id string) string {
	kept := strings.Map(func(r rune) rune {
		if alphanumeric(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return -1
	}, strings.TrimLeftFunc(id, func(r rune) bool { return !alphanumeric(r) }))
	return strings.TrimRightFunc(kept, func(r rune) bool { return !alphanumeric(r) })
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// timed are the run ids that Airflow makes of a time, without ':' and '+'.
var timed = regexp.MustCompile(`^(.*\d{4}-\d\d-\d\dT\d\d)(\d\d)(\d\d(?:\.\d+)?)(-?)(\d\d)(\d\d)(_\w+)?-[0-9a-f]{9}$`)

// IDOf finds the id again that a label was made of: the label itself, or the run id
// of a time whose hash agrees. ok is false where the label does not tell.
func IDOf(label string) (id string, ok bool) {
	if parts := timed.FindStringSubmatch(label); parts != nil {
		sign := parts[4]
		if sign == "" {
			sign = "+"
		}
		id = parts[1] + ":" + parts[2] + ":" + parts[3] + sign + parts[5] + ":" + parts[6] + parts[7]
		if SafeLabel(id) == label {
			return id, true
		}
	}
	return label, !hashedLabel.MatchString(label)
}

// hashedLabel is how a label ends that was shortened. An id may end so by itself; it
// is then taken for a shortened one, and not guessed at.
var hashedLabel = regexp.MustCompile(`-[0-9a-f]{9}$`)
