module github.com/rocketlaunchr/dataframe-go

go 1.26.0
