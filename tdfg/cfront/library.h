/* Functions of the C library in terms of operations that arrays have. */

/* expf: at most 1 unit in the last place from the exact result, for results from
   2^-126 on; smaller ones become 0. Reduction and polynomial are those of Cephes. */
static float bitsched_expf(float x)
{
	float t = x * 1.44269504f;
	int k = (int)(t < 0.0f ? t - 0.5f : t + 0.5f);
	float f = (float)k;
	float r = (x - f * 0.693359375f) - f * -2.12194440e-4f;
	float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * (r * r) + r;
	p = p + 1.0f;
	/* 2^k is 2 * 2^low * 2^(16 * high), with a table of the last. */
	int e = k - 1;
	float s = (float)(2 << (e & 15));
	_Bool b0 = ((e >> 4) + 8 & 1) != 0;
	_Bool b1 = ((e >> 4) + 8 & 2) != 0;
	_Bool b2 = ((e >> 4) + 8 & 4) != 0;
	_Bool b3 = ((e >> 4) + 8 & 8) != 0;
	float m = b3 ? (b2 ? (b1 ? (b0 ? 0x1p112f : 0x1p96f) : (b0 ? 0x1p80f : 0x1p64f))
	                   : (b1 ? (b0 ? 0x1p48f : 0x1p32f) : (b0 ? 0x1p16f : 1.0f)))
	             : (b2 ? (b1 ? (b0 ? 0x1p-16f : 0x1p-32f) : (b0 ? 0x1p-48f : 0x1p-64f))
	                   : (b1 ? (b0 ? 0x1p-80f : 0x1p-96f) : (b0 ? 0x1p-112f : 0x1p-128f)));
	p = p * s * m;
	return x < -87.3365402f ? 0.0f : x > 88.7228317f ? INFINITY : p;
}
