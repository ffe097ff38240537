package inflight

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func tryOf(run string) *sizing.TryKey {
	return &sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func TestAnswersAreReadBackBitForBit(t *testing.T) {
	var tries Tries
	third := 1.0 / 3
	request := Request{Resources: sizing.Resources{Memory: sizing.MaxBytes, CPU: 0.1}, MaxMemory: 3}
	features := sizing.Features{
		"": {}, "a number": sizing.NumberValue(-math.MaxFloat64), "zero": sizing.NumberValue(math.Copysign(0, -1)), "yes": sizing.BoolValue(true),
		"a date": sizing.TextValue("2020-01-03"), "text ü\x00": sizing.TextValue("☃"), "empty": sizing.TextValue(""),
	}
	tries.Add(tryOf("all"), &Answer{Limit: sizing.MaxBytes, Promised: &third, Request: request}, features)
	tries.Add(tryOf("nothing"), &Answer{}, nil)
	tries.Add(tryOf("none"), &Answer{}, sizing.Features{})

	got, ok := tries.End(tryOf("all"))
	require.True(t, ok)
	assert.EqualValues(t, sizing.MaxBytes, got.Limit)
	assert.Equal(t, third, *got.Promised)
	assert.Equal(t, request, got.Request)
	assert.Equal(t, features, got.Features())
	assert.True(t, math.Signbit(got.Features()["zero"].Num))
	_, ok = tries.Find(tryOf("all"))
	assert.False(t, ok, "End removes the answer")

	got, ok = tries.Find(tryOf("nothing"))
	require.True(t, ok)
	assert.Nil(t, got.Promised)
	assert.Nil(t, got.Features(), "unknown features differ from an empty set")
	assert.Equal(t, sizing.Features{}, tries.Features(tryOf("none")))
	got, ok = tries.End(tryOf("unknown"))
	assert.False(t, ok)
	assert.Nil(t, got.Features())
}

func TestANewAnswerToATryReplacesTheEarlierOne(t *testing.T) {
	var tries Tries
	assert.True(t, tries.Add(tryOf("r"), &Answer{Limit: 1}, nil), "the first answer to the try")
	assert.False(t, tries.Add(tryOf("r"), &Answer{Limit: 2}, nil))
	got, _ := tries.Find(tryOf("r"))
	assert.EqualValues(t, 2, got.Limit)
	assert.Equal(t, 1, tries.Len())
}

func TestFeaturesComeFromAKilledTryOfTheRunIfUnknown(t *testing.T) {
	var tries Tries
	killed, retry := tryOf("r"), tryOf("r")
	retry.Number = 2
	features := sizing.Features{"rows": sizing.NumberValue(7)}
	tries.AddKill(killed, sizing.GiB, features, Request{}, time.Time{})
	assert.Equal(t, features, tries.Features(retry), "a retry without an answer has the features of the killed try")
	tries.Add(retry, &Answer{}, nil)
	assert.Equal(t, features, tries.Features(retry), "a retry whose answer has no features has the features of the killed try")
	tries.Add(retry, &Answer{}, sizing.Features{})
	assert.Equal(t, sizing.Features{}, tries.Features(retry), "an empty set that the caller sent is not unknown")
}

func TestTheVoidOfAKillRemovesTheLiftOfItsRun(t *testing.T) {
	var tries Tries
	first, second, third := *tryOf("r"), *tryOf("r"), *tryOf("r")
	second.Number, third.Number = 2, 3
	for _, killed := range []*sizing.TryKey{&first, &second} {
		tries.AddKill(killed, sizing.GiB, nil, Request{}, time.Time{})
	}
	tries.SetLift(&second, 4*sizing.GiB, 0.5)
	tries.Void(&third)
	assert.Equal(t, 4*sizing.GiB, tries.Run(&first).LiftedTo, "try 3 was not killed")
	tries.Void(&second)
	assert.Zero(t, tries.Run(&first).LiftedTo)
	assert.Equal(t, map[int]sizing.Bytes{1: sizing.GiB}, tries.Run(&first).Killed)
	tries.Void(&first)
	assert.Empty(t, tries.Run(&first).Killed)
}

// Answers are stored in blocks of 1 MiB. When maxLiveBlocks of them are full, they become the older of two
// generations, and the previous older generation is discarded.
func TestFullAnswersDiscardTheOlderGeneration(t *testing.T) {
	var tries Tries
	large := sizing.Features{}
	for i := range 100 {
		large[fmt.Sprintf("%0100d", i)] = sizing.TextValue(fmt.Sprintf("%0400d", i))
	}
	const n = 3 * maxLiveBlocks * 20 // a record has 50 kB, and 20 of them fill a block
	for i := range n {
		tries.Add(tryOf(fmt.Sprint(i)), &Answer{Limit: sizing.Bytes(i)}, large)
	}
	assert.Less(t, tries.Len(), 2*maxLiveBlocks*21)
	kept := 0
	for i := range n {
		if got, ok := tries.Find(tryOf(fmt.Sprint(i))); ok {
			kept++
			assert.EqualValues(t, i, got.Limit)
		} else {
			assert.Zero(t, kept, "try %d is discarded, but an older try is not", i)
		}
	}
	assert.Equal(t, tries.Len(), kept)
	assert.GreaterOrEqual(t, kept, maxLiveBlocks*20)
	assert.Equal(t, large, tries.Features(tryOf(fmt.Sprint(n-1))))
}

func TestEndedTriesFreeTheirBlocks(t *testing.T) {
	var tries Tries
	features := sizing.Features{"n": sizing.TextValue(fmt.Sprintf("%0400d", 1))}
	tries.Add(tryOf("long"), &Answer{Limit: 7}, features)
	const n = 200_000 // 90 MB, about three times the capacity of both generations
	for i := range n {
		tries.Add(tryOf(fmt.Sprint(i)), &Answer{}, features)
		if i >= 100 {
			tries.End(tryOf(fmt.Sprint(i - 100)))
		}
	}
	assert.Equal(t, 101, tries.Len())
	assert.LessOrEqual(t, tries.answers.newer.liveBlocks+tries.answers.older.liveBlocks, 3)
	got, ok := tries.Find(tryOf("long"))
	assert.True(t, ok, "the try has not ended")
	assert.EqualValues(t, 7, got.Limit)
}

func TestTriesWithEqualHashesAreDistinguished(t *testing.T) {
	var g generation
	one, other := tryOf("1"), tryOf("2")
	g.put(7, append(appendTry(nil, one), "one"...))
	_, ok := g.get(7, appendTry(nil, other))
	assert.False(t, ok)
	g.put(7, append(appendTry(nil, other), "other"...))
	answer, ok := g.get(7, appendTry(nil, other))
	assert.True(t, ok)
	assert.Equal(t, "other", string(answer))
}

func TestRemoveTaskRemovesOnlyItsTries(t *testing.T) {
	var tries Tries
	similar := tryOf("r")
	similar.Task += "t"
	tries.Add(tryOf("r"), &Answer{}, nil)
	tries.Add(similar, &Answer{}, nil)
	tries.RemoveTask(tryOf("").TaskKey)
	_, ok := tries.Find(tryOf("r"))
	assert.False(t, ok)
	_, ok = tries.Find(similar)
	assert.True(t, ok, "a task whose name starts with the removed name remains")
}

func FuzzNoKeyIsAPrefixOfAnother(f *testing.F) {
	f.Add("n", "d", "t", "r", 0, 1, "n", "d", "", "tr", 0, 1)
	f.Add("", "\x01d", "", "", -1, 64, "", "", "d", "", -1, 1)
	f.Fuzz(func(t *testing.T, n1, d1, t1, r1 string, m1, k1 int, n2, d2, t2, r2 string, m2, k2 int) {
		one := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: n1, DAG: d1, Task: t1}, RunID: r1, MapIndex: m1, Number: k1}
		other := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: n2, DAG: d2, Task: t2}, RunID: r2, MapIndex: m2, Number: k2}
		var g generation
		g.put(0, appendTry(nil, &one))
		_, found := g.get(0, appendTry(nil, &other))
		assert.Equal(t, one == other, found)
	})
}

func BenchmarkAddAndEnd(b *testing.B) {
	var tries Tries
	features := sizing.Features{}
	for i := range 12 {
		features[fmt.Sprintf("feature_%d", i)] = sizing.NumberValue(float64(i))
	}
	for i := 0; b.Loop(); i++ {
		try := tryOf(fmt.Sprintf("scheduled__%d", i))
		tries.Add(try, &Answer{Limit: 1 << 30}, features)
		if i%2 == 0 {
			tries.End(try)
		}
	}
}
