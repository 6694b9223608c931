package cfront

import "testing/fstest"

// standard are headers of C that a file may include, beside what bitsched.h has: what of
// them are macros and names of types. Functions of theirs may be called outside of the
// kernel, in main.
var standard = map[string]string{
	"math.h":    "#define M_PI 3.14159265358979323846\n",
	"stdint.h":  "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n#define INT16_MIN (-32768)\n#define INT16_MAX 32767\n#define UINT16_MAX 65535\n" + limits32,
	"stdlib.h":  "",
	"stddef.h":  "",
	"string.h":  "",
	"assert.h":  "",
	"omp.h":     "",
	"time.h":    "typedef long time_t, clock_t;\nstruct timespec { long tv_sec, tv_nsec; };\n",
	"stdio.h":   "typedef int FILE;\n",
	"stdbool.h": "#define bool _Bool\n#define true 1\n#define false 0\n",
	"limits.h":  "#define CHAR_BIT 8\n#define INT_MIN (-2147483647 - 1)\n#define INT_MAX 2147483647\n#define UINT_MAX 4294967295u\n#define LONG_MAX 9223372036854775807\n#define LONG_MIN (-LONG_MAX - 1)\n",
	"float.h":   "#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n#define FLT_EPSILON 1.192092896e-7f\n#define DBL_MAX 1.7976931348623157e308\n#define DBL_MIN 2.2250738585072014e-308\n#define DBL_EPSILON 2.2204460492503131e-16\n",
}

const limits32 = "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n#define UINT32_MAX 4294967295u\n#define INT64_MAX 9223372036854775807\n#define INT64_MIN (-INT64_MAX - 1)\n"

// headerFiles are bitsched.h and the standard headers, each of which has bitsched.h too.
func headerFiles() fstest.MapFS {
	files := fstest.MapFS{"include/bitsched.h": {Data: []byte(Header)}}
	for name, text := range standard {
		guard := "BITSCHED_" + name[:len(name)-len(".h")]
		files["include/"+name] = &fstest.MapFile{Data: []byte("#include \"bitsched.h\"\n#ifndef " + guard + "\n#define " + guard + "\n" + text + "#endif\n")}
	}
	return files
}
