package service

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func tryOf(run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func TestWhatATryWasAskedWithIsReadBackBitForBit(t *testing.T) {
	var ts tries
	third := 1.0 / 3
	said := terms{requested: sizing.Resources{Memory: sizing.MaxBytes, CPU: 0.1}, most: 3}
	features := sizing.Features{
		"": {}, "a number": sizing.NumberValue(-math.MaxFloat64), "zero": sizing.NumberValue(math.Copysign(0, -1)), "yes": sizing.BoolValue(true),
		"a date": sizing.TextValue("2020-01-03"), "text ü\x00": sizing.TextValue("☃"), "empty": sizing.TextValue(""),
	}
	ts.ask(tryOf("all"), asked{limit: sizing.MaxBytes, promised: &third, terms: said}, features)
	ts.ask(tryOf("nothing"), asked{}, nil)
	ts.ask(tryOf("none"), asked{}, sizing.Features{})

	got, ok := ts.end(tryOf("all"))
	require.True(t, ok)
	assert.EqualValues(t, sizing.MaxBytes, got.limit)
	assert.Equal(t, third, *got.promised)
	assert.Equal(t, said, got.terms)
	assert.Equal(t, features, got.features.read())
	assert.True(t, math.Signbit(got.features.read()["zero"].Num))
	_, ok = ts.answered(tryOf("all"))
	assert.False(t, ok, "it has ended")

	got, ok = ts.answered(tryOf("nothing"))
	require.True(t, ok)
	assert.Nil(t, got.promised)
	assert.Nil(t, got.features.read(), "features that nobody told are not features that are none")
	assert.Equal(t, sizing.Features{}, ts.features(tryOf("none")))
	got, ok = ts.end(tryOf("never asked"))
	assert.False(t, ok)
	assert.Nil(t, got.features.read())
}

func TestATryThatIsAskedAgainIsAnsweredByItsLastAnswer(t *testing.T) {
	var ts tries
	assert.True(t, ts.ask(tryOf("r"), asked{limit: 1}, nil), "the first of its try")
	assert.False(t, ts.ask(tryOf("r"), asked{limit: 2}, nil))
	got, _ := ts.answered(tryOf("r"))
	assert.EqualValues(t, 2, got.limit)
	assert.Equal(t, 1, ts.asked.len())
}

func TestOfTooManyTriesTheOlderHalfIsForgotten(t *testing.T) {
	var ts tries
	large := sizing.Features{}
	for i := range 100 {
		large[fmt.Sprintf("%0100d", i)] = sizing.TextValue(fmt.Sprintf("%0400d", i))
	}
	const n = 3 * halfBlocks * 20 // of some 50 kB: 20 fill a block
	for i := range n {
		ts.ask(tryOf(fmt.Sprint(i)), asked{limit: sizing.Bytes(i)}, large)
	}
	assert.Less(t, ts.asked.len(), 2*halfBlocks*21)
	remembered := 0
	for i := range n {
		if got, ok := ts.answered(tryOf(fmt.Sprint(i))); ok {
			remembered++
			assert.EqualValues(t, i, got.limit)
		} else {
			assert.Zero(t, remembered, "the oldest are forgotten, %d is not", i)
		}
	}
	assert.Equal(t, ts.asked.len(), remembered)
	assert.GreaterOrEqual(t, remembered, halfBlocks*20)
	assert.Equal(t, large, ts.features(tryOf(fmt.Sprint(n-1))))
}

func TestTriesThatHaveEndedGiveTheirRoomBack(t *testing.T) {
	var ts tries
	features := sizing.Features{"n": sizing.TextValue(fmt.Sprintf("%0400d", 1))}
	ts.ask(tryOf("long"), asked{limit: 7}, features)
	const n = 200_000 // 90 MB, three times what is kept of those that have not ended
	for i := range n {
		ts.ask(tryOf(fmt.Sprint(i)), asked{}, features)
		if i >= 100 {
			ts.end(tryOf(fmt.Sprint(i - 100)))
		}
	}
	assert.Equal(t, 101, ts.asked.len())
	assert.LessOrEqual(t, ts.asked.young.kept+ts.asked.old.kept, 3)
	got, ok := ts.answered(tryOf("long"))
	assert.True(t, ok, "it has not ended, however many have since")
	assert.EqualValues(t, 7, got.limit)
}

func TestTriesThatShareAHashAreNotTakenForEachOther(t *testing.T) {
	var h half
	one, other := tryOf("1"), tryOf("2")
	h.put(7, append(appendTry(nil, &one), "one"...))
	_, ok := h.get(7, appendTry(nil, &other))
	assert.False(t, ok)
	h.put(7, append(appendTry(nil, &other), "other"...))
	answer, ok := h.get(7, appendTry(nil, &other))
	assert.True(t, ok)
	assert.Equal(t, "other", string(answer))
}

func TestATaskThatIsDeletedTakesItsTriesAlong(t *testing.T) {
	var ts tries
	near := tryOf("r")
	near.Task += "t"
	ts.ask(tryOf("r"), asked{}, nil)
	ts.ask(near, asked{}, nil)
	ts.forgetTask(tryOf("").TaskKey)
	_, ok := ts.answered(tryOf("r"))
	assert.False(t, ok)
	_, ok = ts.answered(near)
	assert.True(t, ok, "a name that begins with its name is another")
}

func FuzzNoKeyBeginsWithAnother(f *testing.F) {
	f.Add("n", "d", "t", "r", 0, 1, "n", "d", "", "tr", 0, 1)
	f.Add("", "\x01d", "", "", -1, 64, "", "", "d", "", -1, 1)
	f.Fuzz(func(t *testing.T, n1, d1, t1, r1 string, m1, k1 int, n2, d2, t2, r2 string, m2, k2 int) {
		one := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: n1, DAG: d1, Task: t1}, RunID: r1, MapIndex: m1, Number: k1}
		other := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: n2, DAG: d2, Task: t2}, RunID: r2, MapIndex: m2, Number: k2}
		var h half
		h.put(0, appendTry(nil, &one))
		_, found := h.get(0, appendTry(nil, &other))
		assert.Equal(t, one == other, found)
	})
}

func BenchmarkATryIsAskedAndEnds(b *testing.B) {
	var ts tries
	features := sizing.Features{}
	for i := range 12 {
		features[fmt.Sprintf("feature_%d", i)] = sizing.NumberValue(float64(i))
	}
	for i := 0; b.Loop(); i++ {
		try := tryOf(fmt.Sprintf("scheduled__%d", i))
		ts.ask(try, asked{limit: 1 << 30}, features)
		if i%2 == 0 {
			ts.end(try)
		}
	}
}
