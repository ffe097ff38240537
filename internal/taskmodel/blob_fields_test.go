package taskmodel

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// storedFields lists the names under which CBOR stores the fields of a type, one per line. A
// struct that is stored as an array has positions instead of names.
func storedFields(path string, t reflect.Type, parents map[reflect.Type]bool, out *strings.Builder) {
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

// A renamed field must keep its stored name through a tag, so that old blobs open:
//
//	go test ./internal/taskmodel -run TestStoredFieldNames -update
func TestStoredFieldNames(t *testing.T) {
	const file = "testdata/stored_fields.txt"
	var got strings.Builder
	storedFields("Model", reflect.TypeFor[Model](), map[reflect.Type]bool{}, &got)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "give a renamed field a cbor tag with its old name; list a new field with -update")
}
