package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// kindsCounted bounds the features that are counted: ids in names are no features.
const kindsCounted = 10_000

// featureKinds counts the kinds of values of each feature of each task in one file: a model
// reads the kind of most values, and the others count as missing.
type featureKinds map[taskFeature]map[sizing.ValueKind]*kindCount

type taskFeature struct {
	task sizing.TaskKey
	name string
}

type kindCount struct {
	rows  int
	first sizing.Value
	place string // of the first
}

func (k featureKinds) add(o *sizing.Observation, place string) {
	for name, v := range o.Features {
		if v.Kind == sizing.Missing {
			continue
		}
		key := taskFeature{o.Try.TaskKey, name}
		kinds := k[key]
		if kinds == nil {
			if len(k) >= kindsCounted {
				continue
			}
			kinds = map[sizing.ValueKind]*kindCount{}
			k[key] = kinds
		}
		if kinds[v.Kind] == nil {
			kinds[v.Kind] = &kindCount{first: v, place: place}
		}
		kinds[v.Kind].rows++
	}
}

// warnings are one for each feature and kind that is not the feature's own, in order.
func (k featureKinds) warnings() []string {
	var all []string
	for key, kinds := range k {
		if len(kinds) < 2 {
			continue
		}
		most, rows := sizing.Missing, 0
		for kind, count := range kinds {
			if rows += count.rows; most == sizing.Missing || cmp.Or(cmp.Compare(count.rows, kinds[most].rows), cmp.Compare(most, kind)) > 0 {
				most = kind
			}
		}
		field := sizing.Field{Name: key.name, Kind: most}
		for kind, count := range kinds {
			if kind != most && field.Read(count.first).Kind == sizing.Missing {
				all = append(all, fmt.Sprintf("%s: warning: feature.%s of %s: %d of %d values are of kind %v, most are of kind %v: the former count as missing",
					count.place, key.name, key.task, count.rows, rows, kind, most))
			}
		}
	}
	slices.Sort(all)
	return all
}
