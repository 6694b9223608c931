package dnn

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is a network of the zoo.
type Entry struct {
	Name, Title string
	Paper       bool // the evaluation of ARES names it
	build       func(b *Builder)
	input       []int // of one inference
}

// Zoo lists the networks that come with the program.
var Zoo = []Entry{
	{"resnet18", "ResNet-18 (He 2015), 224 x 224", true, resnet(18, false), []int{3, 224, 224}},
	{"resnet50", "ResNet-50 (He 2015, stride in the 1x1), 224 x 224", true, resnet(50, false), []int{3, 224, 224}},
	{"resnet50-v1.5", "ResNet-50, stride in the 3x3, 224 x 224", false, resnet(50, true), []int{3, 224, 224}},
	{"resnext50", "ResNeXt-50 32x4d, stride in the 3x3, 224 x 224", true, resnext50, []int{3, 224, 224}},
	{"vgg16", "VGG-16, 224 x 224", true, vgg16, []int{3, 224, 224}},
	{"mobilenet", "MobileNet v1, width 1.0, 224 x 224", true, mobilenet, []int{3, 224, 224}},
	{"googlenet", "GoogLeNet, 5x5 kernels kept, no auxiliary classifiers, 224 x 224", true, googlenet, []int{3, 224, 224}},
	{"densenet121", "DenseNet-121, growth 32, 224 x 224", true, densenet121, []int{3, 224, 224}},
	{"bert-base", "BERT base, encoder only, 128 tokens", true, bert, []int{128, 768}},
}

// ZooNames returns the names of the zoo.
func ZooNames() []string {
	var names []string
	for i := range Zoo {
		names = append(names, Zoo[i].Name)
	}
	return names
}

// Build returns a network of the zoo for a batch of inferences. For BERT a batch
// lengthens M of its static GEMMs and the batch of its heads.
func Build(name string, batch int, bits Bits) (*Network, error) {
	i := slices.IndexFunc(Zoo, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: no network %q, expected one of %s", ErrOperator, name, strings.Join(ZooNames(), ", "))
	}
	e := &Zoo[i]
	b := NewBuilder(e.Name, e.Title, bits, append([]int{batch}, e.input...)...)
	e.build(b)
	return b.Done()
}

func (b *Builder) convReLU(name string, x, k, r, stride, pad, groups int) int {
	return b.Unary(name+".relu", ReLU, b.Conv(name, x, k, r, stride, pad, groups))
}

// head is a global pool and a classifier of a thousand classes.
func (b *Builder) head(x int) {
	s := b.Shape(x)
	b.FC("fc", b.Flat("flat", b.Pool("pool", AvgPool, x, s[2], 1, 0, false)), 1000)
}

func resnet(layers int, stride3 bool) func(*Builder) {
	return func(b *Builder) {
		x := b.Pool("pool1", MaxPool, b.convReLU("conv1", 0, 64, 7, 2, 3, 1), 3, 2, 1, false)
		blocks := map[int][]int{18: {2, 2, 2, 2}, 50: {3, 4, 6, 3}}[layers]
		for stage, n := range blocks {
			width := 64 << stage
			for i := range n {
				stride := 1
				if i == 0 && stage > 0 {
					stride = 2
				}
				id := fmt.Sprintf("conv%d_%d", stage+2, i+1)
				short, out := x, width
				y := x
				if layers == 18 {
					y = b.convReLU(id+"a", y, width, 3, stride, 1, 1)
					y = b.Conv(id+"b", y, width, 3, 1, 1, 1)
				} else {
					out = 4 * width
					first, second := stride, 1
					if stride3 {
						first, second = 1, stride
					}
					y = b.convReLU(id+"a", y, width, 1, first, 0, 1)
					y = b.convReLU(id+"b", y, width, 3, second, 1, 1)
					y = b.Conv(id+"c", y, out, 1, 1, 0, 1)
				}
				if b.Shape(x)[1] != out || stride != 1 {
					short = b.Conv(id+"s", x, out, 1, stride, 0, 1)
				}
				x = b.Unary(id+".relu", ReLU, b.Add2(id+".add", y, short))
			}
		}
		b.head(x)
	}
}

func resnext50(b *Builder) {
	x := b.Pool("pool1", MaxPool, b.convReLU("conv1", 0, 64, 7, 2, 3, 1), 3, 2, 1, false)
	for stage, n := range []int{3, 4, 6, 3} {
		width := 128 << stage // 32 groups of 4 channels
		for i := range n {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			id := fmt.Sprintf("conv%d_%d", stage+2, i+1)
			short := x
			y := b.convReLU(id+"a", x, width, 1, 1, 0, 1)
			y = b.convReLU(id+"b", y, width, 3, stride, 1, 32)
			y = b.Conv(id+"c", y, 2*width, 1, 1, 0, 1)
			if i == 0 {
				short = b.Conv(id+"s", x, 2*width, 1, stride, 0, 1)
			}
			x = b.Unary(id+".relu", ReLU, b.Add2(id+".add", y, short))
		}
	}
	b.head(x)
}

func vgg16(b *Builder) {
	x := 0
	for stage, n := range []int{2, 2, 3, 3, 3} {
		for i := range n {
			x = b.convReLU(fmt.Sprintf("conv%d_%d", stage+1, i+1), x, min(64<<stage, 512), 3, 1, 1, 1)
		}
		x = b.Pool(fmt.Sprintf("pool%d", stage+1), MaxPool, x, 2, 2, 0, false)
	}
	x = b.Flat("flat", x)
	x = b.Unary("fc6.relu", ReLU, b.FC("fc6", x, 4096))
	x = b.Unary("fc7.relu", ReLU, b.FC("fc7", x, 4096))
	b.FC("fc8", x, 1000)
}

func mobilenet(b *Builder) {
	x := b.convReLU("conv1", 0, 32, 3, 2, 1, 1)
	for i, l := range [][2]int{{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}} {
		c := b.Shape(x)[1]
		x = b.convReLU(fmt.Sprintf("dw%d", i+1), x, c, 3, l[1], 1, c)
		x = b.convReLU(fmt.Sprintf("pw%d", i+1), x, l[0], 1, 1, 0, 1)
	}
	b.head(x)
}

func googlenet(b *Builder) {
	x := b.Pool("pool1", MaxPool, b.convReLU("conv1", 0, 64, 7, 2, 3, 1), 3, 2, 0, true)
	x = b.convReLU("conv2", b.convReLU("conv2r", x, 64, 1, 1, 0, 1), 192, 3, 1, 1, 1)
	x = b.Pool("pool2", MaxPool, x, 3, 2, 0, true)
	for _, m := range []struct {
		id                         string
		c1, r3, c3, r5, c5, pooled int
	}{
		{"3a", 64, 96, 128, 16, 32, 32}, {"3b", 128, 128, 192, 32, 96, 64}, {"", 0, 0, 0, 0, 0, 0},
		{"4a", 192, 96, 208, 16, 48, 64}, {"4b", 160, 112, 224, 24, 64, 64}, {"4c", 128, 128, 256, 24, 64, 64},
		{"4d", 112, 144, 288, 32, 64, 64}, {"4e", 256, 160, 320, 32, 128, 128}, {"", 0, 0, 0, 0, 0, 0},
		{"5a", 256, 160, 320, 32, 128, 128}, {"5b", 384, 192, 384, 48, 128, 128},
	} {
		if m.id == "" {
			x = b.Pool(fmt.Sprintf("pool%d", len(b.Net.Nodes)), MaxPool, x, 3, 2, 0, true)
			continue
		}
		id := "inc" + m.id
		x = b.Cat(id+".cat",
			b.convReLU(id+"_1", x, m.c1, 1, 1, 0, 1),
			b.convReLU(id+"_3", b.convReLU(id+"_3r", x, m.r3, 1, 1, 0, 1), m.c3, 3, 1, 1, 1),
			b.convReLU(id+"_5", b.convReLU(id+"_5r", x, m.r5, 1, 1, 0, 1), m.c5, 5, 1, 2, 1),
			b.convReLU(id+"_p", b.Pool(id+".pool", MaxPool, x, 3, 1, 1, false), m.pooled, 1, 1, 0, 1))
	}
	b.head(x)
}

func densenet121(b *Builder) {
	x := b.Pool("pool1", MaxPool, b.convReLU("conv1", 0, 64, 7, 2, 3, 1), 3, 2, 1, false)
	for block, n := range []int{6, 12, 24, 16} {
		for i := range n {
			id := fmt.Sprintf("dense%d_%d", block+1, i+1)
			y := b.convReLU(id+"a", b.Unary(id+".relu0", ReLU, x), 128, 1, 1, 0, 1)
			x = b.Cat(id+".cat", x, b.Conv(id+"b", y, 32, 3, 1, 1, 1))
		}
		if block < 3 {
			id := fmt.Sprintf("trans%d", block+1)
			x = b.Conv(id, b.Unary(id+".relu0", ReLU, x), b.Shape(x)[1]/2, 1, 1, 0, 1)
			x = b.Pool(id+".pool", AvgPool, x, 2, 2, 0, false)
		}
	}
	b.head(b.Unary("relu5", ReLU, x))
}

func bert(b *Builder) {
	const heads, dim = 12, 64
	s := b.Shape(0)
	batch, tokens := s[0], s[1]
	x := 0
	for layer := range 12 {
		id := func(s string) string { return fmt.Sprintf("l%d.%s", layer+1, s) }
		// The heads of all inferences of a batch are one batch of GEMMs.
		part := func(name string, perm ...int) int {
			y := b.View(id(name+".heads"), b.FC(id(name), x, heads*dim), batch, tokens, heads, dim)
			y = b.Permute(id(name+".t"), y, perm...)
			t := b.Shape(y)
			return b.View(id(name+".b"), y, batch*heads, t[2], t[3])
		}
		q, k, v := part("q", 0, 2, 1, 3), part("k", 0, 2, 3, 1), part("v", 0, 2, 1, 3)
		p := b.Unary(id("softmax"), Softmax, b.MatMul(id("qk"), q, k))
		b.Net.Nodes[p].Axis = 2
		a := b.View(id("av.heads"), b.MatMul(id("av"), p, v), batch, heads, tokens, dim)
		a = b.View(id("av.b"), b.Permute(id("av.t"), a, 0, 2, 1, 3), batch, tokens, heads*dim)
		x = b.Unary(id("norm1"), Norm, b.Add2(id("add1"), b.FC(id("proj"), a, heads*dim), x))
		f := b.Unary(id("gelu"), Sigmoid, b.FC(id("ff1"), x, 3072))
		b.Net.Nodes[f].Function = "gelu"
		x = b.Unary(id("norm2"), Norm, b.Add2(id("add2"), b.FC(id("ff2"), f, 768), x))
	}
}

// Table4 lists the convolutions of the paper's Table IV, C0 to C10, and the two
// GEMMs of its text.
var Table4 = []struct {
	Name                      string
	N, K, H, W, C, R, S, Step int
}{
	{"C0", 4, 64, 112, 112, 3, 7, 7, 2},
	{"C1", 4, 64, 56, 56, 64, 3, 3, 1},
	{"C2", 4, 64, 56, 56, 64, 1, 1, 1},
	{"C3", 4, 128, 28, 28, 64, 3, 3, 2},
	{"C4", 4, 128, 28, 28, 128, 1, 1, 1},
	{"C5", 4, 128, 28, 28, 128, 3, 3, 1},
	{"C6", 4, 256, 14, 14, 128, 3, 3, 2},
	{"C7", 4, 256, 14, 14, 256, 1, 1, 1},
	{"C8", 4, 256, 14, 14, 256, 3, 3, 1},
	{"C9", 4, 512, 7, 7, 256, 3, 3, 2},
	{"C10", 4, 512, 7, 7, 512, 3, 3, 1},
	{"G1", 0, 1024, 0, 1024, 1024, 0, 0, 0},
	{"G2", 0, 2048, 0, 2048, 2048, 0, 0, 0},
}

// Table4Operators returns the operators of Table IV and the GEMMs G1 and G2.
func Table4Operators(bits Bits) []*Operator {
	var out []*Operator
	for _, l := range Table4 {
		o, err := table4(l.Name, bits)
		if err != nil {
			panic(err) // a table of ours
		}
		out = append(out, o)
	}
	return out
}

func table4(name string, bits Bits) (*Operator, error) {
	for _, l := range Table4 {
		if l.Name != name {
			continue
		}
		if l.N == 0 {
			return NewGEMM(l.Name, 1, l.K, l.W, l.C, true, bits)
		}
		return NewConv(l.Name, Conv{N: l.N, K: l.K, C: l.C, Out: []int{l.H, l.W}, Kernel: []int{l.R, l.S}, Stride: []int{l.Step, l.Step}}, bits)
	}
	var names []string
	for _, l := range Table4 {
		names = append(names, l.Name)
	}
	return nil, fmt.Errorf("%w: no layer table4/%s, expected one of %s", ErrOperator, name, strings.Join(names, ", "))
}
