package config

import (
	"fmt"
	"math"
	"strconv"
)

// Price is a setting in units of a currency; 0 means none.
type Price float64

// Decode implements envconfig.Decoder.
func (p *Price) Decode(value string) error {
	if value == "" {
		*p = 0
		return nil
	}
	price, err := strconv.ParseFloat(value, 64)
	if err != nil || !(price >= 0) || math.IsInf(price, 0) {
		return fmt.Errorf("price %q: must be a finite number of at least 0, without a currency; LOADAWARE_PRICE_CURRENCY names the currency", value)
	}
	*p = Price(price)
	return nil
}
