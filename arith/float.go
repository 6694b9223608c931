package arith

func floatOperations() []Operation { return nil }
