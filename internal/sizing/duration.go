package sizing

import (
	"regexp"
	"strconv"
)

var (
	// isoDuration matches a duration in ISO 8601 without years and months, whose lengths differ, such as P1DT2H30M.
	isoDuration = regexp.MustCompile(`^P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$`)
	// clockDuration matches what Python's str(timedelta) gives, such as "1 day, 2:30:00".
	clockDuration = regexp.MustCompile(`^()(?:(-?\d{1,9}) days?, )?(\d{1,9}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)$`)
	// unitDuration matches weeks to seconds as Go and Prometheus write them, such as 1h30m0s or 1d12h, also with spaces. It matches no
	// negative durations, no years, and no units below a second.
	unitDuration = regexp.MustCompile(`^(?:(\d{1,9})w ?)?(?:(\d{1,9})d ?)?(?:(\d{1,9})h ?)?(?:(\d{1,9})m(?:in)? ?)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?$`)
)

// parseDuration returns the seconds of a duration in ISO 8601, in the form of Python's str(timedelta), or in the form of Go. A
// time of day such as 14:30:00 has the form of a timedelta.
func parseDuration(s string) (seconds float64, ok bool) {
	if s == "" || s[0] != 'P' && s[0] != '-' && (s[0] < '0' || s[0] > '9') { // true for most texts
		return 0, false
	}
	last := s[len(s)-1]
	pattern := clockDuration
	switch {
	case s[0] == 'P':
		if last < 'A' || last == 'P' || last == 'T' { // a part must follow P and T
			return 0, false
		}
		pattern = isoDuration
	case last >= 'a':
		pattern = unitDuration
	}
	parts := pattern.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	for i, unit := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		if part := parts[i+1]; part != "" {
			v, err := strconv.ParseFloat(part, 64)
			if err != nil {
				return 0, false
			}
			seconds += v * unit
		}
	}
	return seconds, true
}
