package sizing

import "math"

const (
	secondsPerDay      = 24 * 3600
	millisecondsPerDay = secondsPerDay * 1000
)

// Weekday returns the weekday of a date in days since 1970; 0 is Sunday. It is NaN if days is NaN.
func Weekday(days float64) float64 {
	return math.Mod(math.Mod(math.Floor(days)+4, 7)+7, 7) // 1970-01-01 was a Thursday
}

// Hour returns the hour of a time in days since 1970, 0 … 23; NaN if days is NaN.
func Hour(days float64) float64 {
	return math.Mod(math.Mod(HoursSince(days), 24)+24, 24)
}

// HoursSince returns the number of whole hours from 1970 to a time in days since 1970. It first rounds the time to milliseconds,
// because a float64 in days does not represent most whole hours exactly. Finer rounding would reach the error of a float64.
func HoursSince(days float64) float64 {
	const millisecondsPerHour = 3600 * 1000
	return math.Floor(math.Round(days*millisecondsPerDay) / millisecondsPerHour)
}
