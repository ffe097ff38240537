package prometheus

import (
	"crypto/md5" //nolint:gosec // must equal Airflow's label; no security relevance
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	maxLabel   = 63 // limit of Kubernetes
	hashDigits = 9  // hexadecimal
)

// SafeLabel converts an id into a pod label, like Airflow's Kubernetes provider. It keeps
// ASCII letters and digits, '-', '_' and '.', and trims both ends to a letter or digit. If that
// changes the id, or the result has more than 63 characters, it truncates the result to
// 53 characters and appends "-" and the first 9 hexadecimal digits of the id's MD5.
//
//	etl                                   etl
//	manual__2026-01-03T02:00:00+00:00     manual__2026-01-03T0200000000-e9fc016fe
func SafeLabel(id string) string {
	safe := strip(id)
	if safe == id && len(safe) <= maxLabel {
		return safe
	}
	sum := md5.Sum([]byte(id)) //nolint:gosec // must equal Airflow's label
	hash := hex.EncodeToString(sum[:])[:hashDigits]
	return safe[:min(len(safe), maxLabel-hashDigits-1)] + "-" + hash
}

func strip(id string) string {
	permitted := strings.Map(func(r rune) rune {
		if alphanumeric(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return -1
	}, strings.TrimLeftFunc(id, func(r rune) bool { return !alphanumeric(r) }))
	return strings.TrimRightFunc(permitted, func(r rune) bool { return !alphanumeric(r) })
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// timeLabel matches the label of a run id with a time, from which SafeLabel has removed ':' and '+'.
var timeLabel = regexp.MustCompile(`^(.*\d{4}-\d\d-\d\dT\d\d)(\d\d)(\d\d(?:\.\d+)?)(-?)(\d\d)(\d\d)(_\w+)?-[0-9a-f]{9}$`)

// IDFromLabel restores the id of a label: the label itself, or a run id with a time whose
// hash matches. ok is false if the label ends with the hash of an id that cannot be restored.
func IDFromLabel(label string) (id string, ok bool) {
	if parts := timeLabel.FindStringSubmatch(label); parts != nil {
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

// hashedLabel matches a label that ends with a hash, as SafeLabel appends it to an id that it changed. An unchanged id
// with this ending also matches and counts as not restorable.
var hashedLabel = regexp.MustCompile(`-[0-9a-f]{9}$`)
