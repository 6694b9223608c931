package dnn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures are derived from the architectures, without this code.
func TestZooCountsExactly(t *testing.T) {
	for name, want := range map[string]Totals{
		"resnet18":      {21, 12, 1_814_073_344, 11_678_912},
		"resnet50":      {54, 21, 3_857_973_248, 25_502_912},
		"resnet50-v1.5": {54, 24, 4_089_184_256, 25_502_912},
		"resnext50":     {54, 25, 4_230_479_872, 24_959_680},
		"vgg16":         {16, 12, 15_470_264_320, 138_344_128},
		"mobilenet":     {28, 20, 568_740_352, 4_209_088},
		"googlenet":     {58, 50, 1_582_671_872, 6_990_272},
		"densenet121":   {121, 67, 2_834_161_664, 7_894_208},
		"bert-base":     {96, 5, 11_173_625_856, 84_934_656},
	} {
		n, err := Build(name, 1, DefaultBits)
		require.NoError(t, err, name)
		require.Equal(t, want, n.Totals(), name)
	}
}

func TestTable4Counts(t *testing.T) {
	want := []int64{472_055_808, 462_422_016, 51_380_224, 231_211_008, 51_380_224, 462_422_016, 231_211_008, 51_380_224, 462_422_016, 231_211_008, 462_422_016, 1 << 30, 1 << 33}
	for i, o := range Table4Operators(DefaultBits) {
		require.Equal(t, want[i], o.MACs(), o.Name)
	}
}
