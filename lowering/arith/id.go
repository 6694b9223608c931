package arith

// ID names an operation on any type of its kind: integers, where the sign does not
// matter or they are signed ("int.add"), unsigned integers ("uint.lt"), or
// floating-point numbers ("fp.mul").
type ID string

// The operations.
const (
	IntMul          ID = "int.mul"
	IntAdd          ID = "int.add"
	IntSub          ID = "int.sub"
	IntNeg          ID = "int.neg"
	IntAbs          ID = "int.abs"
	IntEqual        ID = "int.eq"
	IntNotEqual     ID = "int.ne"
	IntLess         ID = "int.lt"
	IntLessEqual    ID = "int.le"
	IntGreater      ID = "int.gt"
	IntGreaterEqual ID = "int.ge"
	IntMin          ID = "int.min"
	IntMax          ID = "int.max"
	IntSelect       ID = "int.select"
	IntAnd          ID = "int.and"
	IntOr           ID = "int.or"
	IntXor          ID = "int.xor"
	IntNot          ID = "int.not"
	IntShiftLeft    ID = "int.shl"
	IntShiftRight   ID = "int.shr"
	IntRotateLeft   ID = "int.rotl"
	IntRotateRight  ID = "int.rotr"
	IntMulHigh      ID = "int.mulh"
	IntMulWide      ID = "int.mulw"
	IntMAC          ID = "int.mac"
	IntDiv          ID = "int.div"
	IntRem          ID = "int.rem"
	IntPopcount     ID = "int.popcount"
	IntLeadingZeros ID = "int.lzc"
	IntWiden        ID = "int.widen"
	IntNarrow       ID = "int.narrow"
	IntReLU         ID = "int.relu"

	UintLess         ID = "uint.lt"
	UintLessEqual    ID = "uint.le"
	UintGreater      ID = "uint.gt"
	UintGreaterEqual ID = "uint.ge"
	UintMin          ID = "uint.min"
	UintMax          ID = "uint.max"
	UintShiftRight   ID = "uint.shr"
	UintMulHigh      ID = "uint.mulh"
	UintMulWide      ID = "uint.mulw"
	UintDiv          ID = "uint.div"
	UintRem          ID = "uint.rem"
	UintSqrt         ID = "uint.sqrt"
	UintWiden        ID = "uint.widen"

	FloatSqrt         ID = "fp.sqrt"
	FloatAdd          ID = "fp.add"
	FloatSub          ID = "fp.sub"
	FloatMul          ID = "fp.mul"
	FloatFMA          ID = "fp.fma"
	FloatDiv          ID = "fp.div"
	FloatEqual        ID = "fp.eq"
	FloatNotEqual     ID = "fp.ne"
	FloatLess         ID = "fp.lt"
	FloatLessEqual    ID = "fp.le"
	FloatGreater      ID = "fp.gt"
	FloatGreaterEqual ID = "fp.ge"
	FloatMin          ID = "fp.min"
	FloatMax          ID = "fp.max"
	FloatNeg          ID = "fp.neg"
	FloatAbs          ID = "fp.abs"
	FloatFromInt      ID = "fp.fromint"
	FloatToInt        ID = "fp.toint"
)

// floatTo is the conversion to a format.
func floatTo(to *Format) ID { return ID("fp.to" + to.Name) }
