package taskmodel

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// storedFields lists the names under which CBOR stores the fields of a type, one per line. A
// struct that is stored as an array has positions instead of names. `parents` holds the structs that
// contain the type, so that the recursion ends.
func storedFields(path string, t reflect.Type, parents map[reflect.Type]bool, out *strings.Builder) {
	if t == reflect.TypeFor[donorTable]() {
		t = reflect.TypeFor[[][]sizing.Value]() // see donorTable.MarshalCBOR
	}
	if t == reflect.TypeFor[*groups]() {
		t = reflect.TypeFor[map[uint64]*group]() // see groups.MarshalCBOR
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		storedFields(path+"[]", t.Elem(), parents, out)
		return
	case reflect.Map:
		storedFields(path+"{}", t.Elem(), parents, out)
		return
	case reflect.Struct:
	default:
		fmt.Fprintln(out, path, t.Kind())
		return
	}
	if parents[t] {
		return
	}
	parents[t] = true
	defer delete(parents, t)
	blank, found := t.FieldByName("_")
	isArray := found && strings.Contains(blank.Tag.Get("cbor"), "toarray")
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("cbor")+f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() && !f.Anonymous || name == "-":
			continue
		case f.Anonymous:
			storedFields(path, f.Type, parents, out)
			continue
		case isArray:
			name = fmt.Sprint(i)
		case name == "":
			name = f.Name
		}
		storedFields(path+"."+name, f.Type, parents, out)
	}
}

// A renamed field must keep its stored name through a tag, so that old blobs open. This command adds a new field to
// the list:
//
//	go test ./internal/taskmodel -run TestStoredFieldNames -update
func TestStoredFieldNames(t *testing.T) {
	const file = "testdata/stored_fields.txt"
	var got strings.Builder
	storedFields("Model", reflect.TypeFor[snapshot](), map[reflect.Type]bool{}, &got)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "give a renamed field a cbor tag with its old name; list a new field with -update")
}

// An exported field of the model that the snapshot lacks would be lost when the model is stored.
func TestSnapshotHasEveryFieldOfTheModel(t *testing.T) {
	var model Model
	fields := reflect.ValueOf(&model).Elem()
	for i := range fields.NumField() {
		if f := fields.Type().Field(i); f.IsExported() {
			setNonZero(fields.Field(i))
		}
	}
	stored := model.snapshot()
	back := reflect.ValueOf(stored.model()).Elem()
	for i := range fields.NumField() {
		f := fields.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		require.Equal(t, fields.Field(i).Interface(), back.Field(i).Interface(), "add %s to snapshot and to its two conversions", f.Name)
		require.False(t, back.Field(i).IsZero(), "setNonZero does not know the type of %s", f.Name)
	}
}

// setNonZero sets a value to one that is not zero. It leaves a value of an unknown type unchanged.
func setNonZero(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				setNonZero(v.Field(i))
			}
		}
	case reflect.Array:
		setNonZero(v.Index(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(1)
	}
}
