package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// raw is JSON text that encode writes unchanged, valid or not.
type raw string

// encode writes a tree of maps, lists, scalars and raw as JSON. It sorts the members of a map, so that equal trees have
// equal bytes.
func encode(b *bytes.Buffer, tree any) {
	switch v := tree.(type) {
	case raw:
		b.WriteString(string(v))
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(name))
			b.WriteByte(':')
			encode(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			encode(b, v[i])
		}
		b.WriteByte(']')
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // cannot happen: the examples of the contract are JSON
		}
		b.Write(text)
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // cannot happen: every string can be encoded
	}
	return string(text)
}

// clone copies maps and lists; other values are immutable.
func clone(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for name := range v {
			copied[name] = clone(v[name])
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = clone(v[i])
		}
		return copied
	}
	return tree
}

// position locates a value in its parent, a map or a list.
type position struct {
	in  any    // map[string]any or []any
	key string // of the member, in a map
	at  int    // index of the element, in a list
}

func (p position) set(v any) {
	switch in := p.in.(type) {
	case map[string]any:
		in[p.key] = v
	case []any:
		in[p.at] = v
	}
}

func (p position) get() any {
	if in, ok := p.in.(map[string]any); ok {
		return in[p.key]
	}
	return p.in.([]any)[p.at]
}

// positions returns the positions of all values below the root, in order.
func positions(tree any) (all []position) {
	switch v := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, position{in: v, key: name}), positions(v[name])...)
		}
	case []any:
		for i := range v {
			all = append(append(all, position{in: v, at: i}), positions(v[i])...)
		}
	}
	return all
}

func unexpectedValue(random *rand.Rand) any {
	values := []func() any{
		func() any { return nil },
		func() any { return random.IntN(2) == 0 },
		func() any { return map[string]any{} },
		func() any { return []any{} },
		func() any { return map[string]any{"a": map[string]any{"b": []any{1, "2", nil}}} },
		func() any { return raw(unusualNumbers[random.IntN(len(unusualNumbers))]) },
		func() any { return raw(strconv.FormatInt(random.Int64()-random.Int64(), 10)) },
		func() any { return raw(fmt.Sprintf("%de%d", random.IntN(1000), random.IntN(700)-350)) },
		func() any { return unusualTexts[random.IntN(len(unusualTexts))] },
		func() any { return strings.Repeat("x", 1<<random.IntN(12)) },
		func() any { return raw(invalidJSON[random.IntN(len(invalidJSON))]) },
		func() any { return raw(nested(1 << random.IntN(14))) },
		func() any { return objectWith(1 << random.IntN(10)) },
	}
	return values[random.IntN(len(values))]()
}

var (
	unusualNumbers = []string{
		"0", "-0", "-1", "1", "0.5", "1.5", "1e0", "1e9", "1E+2", "1e400", "-1e400", "1e-400", "4.9e-324", "1.7976931348623157e308",
		"2147483647", "2147483648", "-2147483649", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "18446744073709551616", "1234567890123456789012345678901234567890", "0.1", "0.0001", "0.5000001", "32767", "32768",
	}
	unusualTexts = []string{
		"", " ", "a", "a/b", "..", "\x00", "\u007f", "\n", "\u202eabc", "é", "e\u0301", "😀", "\ufeff", "\uffff", "null", "true", "NaN", "1e400", "%00", "%2f",
		"350Gi", "0", "-1Gi", "1e3Gi", "0.5", "1n", "1u", "99999999999Ei", "9223372036854775808", "1Gi ", " 1Gi", "1gi", "1KiB", ".5Gi", "5.", "+1", "1_000", "٣Gi",
		"2020-01-03", "2020-02-30", "0000-01-01", "9999-12-31T23:59:59Z", "2020-01-03T02:15:00Z", "2020-01-03T02:15:00+25:00", "2020-01-03T02:15:60Z", "1969-12-31T23:59:59Z",
		"success", "oom_killed", "app_oom", "unschedulable", "evicted", "SUCCESS", "enforce", "shadow", "off", "bins", "fine", "' OR 1=1 --", "$1", "<script>", "${x}",
	}
	invalidJSON = []string{
		"NaN", "Infinity", "-Infinity", "undefined", "01", "+1", "1.", ".1", "0x10", "1e", "--1", "tru", "nul", "'a'", `"`, `"\ud800"`, `"\udc00\ud800"`, `"\u00"`, `"\x41"`,
		"\"a\xff\"", "\"\xc3\x28\"", "\"\xed\xa0\x80\"", "\"\x00\"", "\"\x01\"", "[", "]", "{", "}", "{]", "[1,]", "{,}", `{"a"}`, `{"a":1,}`, `{"a":1,"a":2}`, "//", "/**/1", "1 2", "\xef\xbb\xbf1", "\x00",
	}
)

// nested returns a value that is about n levels deep.
func nested(n int) string {
	return strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2)
}

func objectWith(n int) any {
	members := make(map[string]any, n)
	for i := range n {
		members[fmt.Sprintf("f%d", i)] = i
	}
	return members
}

// mutateTree changes one value, or adds or removes a member. It may change the tree in place.
func mutateTree(random *rand.Rand, tree any) any {
	all := positions(tree)
	if len(all) == 0 {
		return unexpectedValue(random)
	}
	p := all[random.IntN(len(all))]
	members, isMember := p.in.(map[string]any)
	switch choice := random.IntN(10); {
	case choice < 5:
		p.set(unexpectedValue(random))
	case choice < 6:
		p.set(clone(all[random.IntN(len(all))].get()))
	case !isMember:
		p.set([]any{p.get(), p.get()})
	case choice == 6:
		delete(members, p.key)
	case choice == 7:
		members[strings.ToUpper(p.key)] = p.get()
	case choice == 8:
		members[unusualTexts[random.IntN(len(unusualTexts))]] = unexpectedValue(random)
	case choice == 9:
		p.set(unexpectedValue(random))
		members["features"] = objectWith(1 << random.IntN(9))
	}
	return tree
}

// mutateBytes makes at most one random change, such as a truncation, a flipped bit or an inserted piece.
func mutateBytes(random *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return []byte(invalidJSON[random.IntN(len(invalidJSON))])
	}
	at := random.IntN(len(text))
	insert := func(piece string) []byte { return slices.Insert(slices.Clone(text), at, []byte(piece)...) }
	switch random.IntN(8) {
	case 0:
		return text[:at]
	case 1:
		flipped := slices.Clone(text)
		flipped[at] ^= 1 << random.IntN(8)
		return flipped
	case 2:
		return insert(invalidJSON[random.IntN(len(invalidJSON))])
	case 3:
		return insert(string([]byte{byte(random.IntN(256))}))
	case 4:
		return insert(string(text[at:min(len(text), at+1+random.IntN(40))]))
	case 5:
		return append(slices.Clone(text), invalidJSON[random.IntN(len(invalidJSON))]...)
	case 6: // repeats the first member
		if member, _, ok := bytes.Cut(bytes.TrimPrefix(text, []byte("{")), []byte(",")); ok {
			return []byte("{" + string(member) + "," + strings.TrimPrefix(string(text), "{"))
		}
		return text
	default:
		return insert(strings.Repeat(" ", 1<<random.IntN(16)))
	}
}
