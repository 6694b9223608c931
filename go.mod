module github.com/bitsched/bitsched

go 1.26
