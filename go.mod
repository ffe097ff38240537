module github.com/loadaware/loadaware

go 1.26
