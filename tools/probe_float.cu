// What a real GPU computes for floating-point edge values: every operation on all pairs (or triples) of a table of edge values.
//
//   nvcc -arch=sm_90 -o probe_float tools/probe_float.cu && ./probe_float > float_edges.txt
//
// tools/isa_probe.py samples every form at 256 operand tuples; this one is exhaustive over the edge values, for the rules that sampling can
// miss: which of two NaNs survives, signs of zeros, flushing before or after rounding, and the approximate functions over all exponents.
// Output: `table NAME BITS values...`, then a line an operation: `op SPELLING ARITY SOURCE-TABLE: results...`, hexadecimal; the first
// operand varies slowest, and a `*COUNT` after a result repeats it.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = unsigned long long;

// X(arity, destination bits, source bits, table, spelling). Approximations (table "sweep") run over all exponents.
// clang-format off
#define ARITHMETIC(X, N, T, R) \
  X(2, N, N, #T, "add" R "." #T) X(2, N, N, #T, "sub" R "." #T) X(2, N, N, #T, "mul" R "." #T) X(3, N, N, #T "s", "fma" R "." #T)
#define ROUNDED(X, N, T, R) \
  ARITHMETIC(X, N, T, R) X(2, N, N, #T, "div" R "." #T) X(1, N, N, #T, "rcp" R "." #T) X(1, N, N, #T, "sqrt" R "." #T)
#define SIGNS(X, N, T) X(1, N, N, #T, "abs." #T) X(1, N, N, #T, "neg." #T)
#define EXTREMA(X, N, T, M) X(2, N, N, #T, "min" M "." #T) X(2, N, N, #T, "max" M "." #T)
#define ALL_MODES(X, N, T, Z) ROUNDED(X, N, T, ".rn" Z) ROUNDED(X, N, T, ".rz" Z) ROUNDED(X, N, T, ".rm" Z) ROUNDED(X, N, T, ".rp" Z)
#define SATURATED(X, R) ARITHMETIC(X, 32, f32, R ".sat") ARITHMETIC(X, 32, f32, R ".ftz.sat")
#define HALF(X, T) \
  ARITHMETIC(X, 16, T, ".rn") X(3, 16, 16, #T "s", "fma.rn.relu." #T) SIGNS(X, 16, T) \
  EXTREMA(X, 16, T, "") EXTREMA(X, 16, T, ".NaN") EXTREMA(X, 16, T, ".xorsign.abs") EXTREMA(X, 16, T, ".NaN.xorsign.abs") \
  X(1, 16, 16, #T, "tanh.approx." #T) X(1, 32, 16, #T, "cvt.f32." #T)
#define FLOAT_TO_INT(X, S, T, R) \
  X(1, 32, S, #T, "cvt" R ".s32." #T) X(1, 32, S, #T, "cvt" R ".u32." #T) X(1, 64, S, #T, "cvt" R ".s64." #T) \
  X(1, 64, S, #T, "cvt" R ".u64." #T) X(1, 16, S, #T, "cvt" R ".s16." #T) X(1, 16, S, #T, "cvt" R ".u16." #T)
#define SWEEP(X, TEXT) X(1, 32, 32, "sweep", TEXT)
#define APPROXIMATE(X, Z) \
  SWEEP(X, "rcp.approx" Z ".f32") SWEEP(X, "sqrt.approx" Z ".f32") SWEEP(X, "rsqrt.approx" Z ".f32") SWEEP(X, "sin.approx" Z ".f32") \
  SWEEP(X, "cos.approx" Z ".f32") SWEEP(X, "lg2.approx" Z ".f32") SWEEP(X, "ex2.approx" Z ".f32") \
  X(2, 32, 32, "f32", "div.approx" Z ".f32") X(2, 32, 32, "f32", "div.full" Z ".f32")
#define CONVERSIONS(X) \
  FLOAT_TO_INT(X, 32, f32, ".rzi") FLOAT_TO_INT(X, 32, f32, ".rni.ftz") FLOAT_TO_INT(X, 64, f64, ".rmi") \
  FLOAT_TO_INT(X, 16, f16, ".rpi") FLOAT_TO_INT(X, 16, bf16, ".rni") \
  X(1, 32, 32, "f32", "cvt.rni.f32.f32") X(1, 32, 32, "f32", "cvt.sat.f32.f32") X(1, 32, 32, "f32", "cvt.ftz.sat.f32.f32") \
  X(1, 64, 64, "f64", "cvt.rpi.f64.f64") X(1, 64, 64, "f64", "cvt.sat.f64.f64") X(1, 16, 16, "f16", "cvt.rni.f16.f16") \
  X(1, 16, 16, "f16", "cvt.sat.f16.f16") X(1, 64, 32, "f32", "cvt.f64.f32") X(1, 64, 32, "f32", "cvt.ftz.f64.f32") \
  X(1, 64, 16, "f16", "cvt.f64.f16") X(1, 64, 16, "bf16", "cvt.f64.bf16") X(1, 32, 64, "f64", "cvt.rn.f32.f64") \
  X(1, 32, 64, "f64", "cvt.rp.ftz.f32.f64") X(1, 32, 64, "f64", "cvt.rz.sat.f32.f64") X(1, 16, 64, "f64", "cvt.rn.f16.f64") \
  X(1, 16, 64, "f64", "cvt.rn.bf16.f64") X(1, 16, 32, "f32", "cvt.rn.f16.f32") X(1, 16, 32, "f32", "cvt.rn.ftz.f16.f32") \
  X(1, 16, 32, "f32", "cvt.rn.sat.f16.f32") X(1, 16, 32, "f32", "cvt.rz.relu.f16.f32") X(1, 16, 32, "f32", "cvt.rn.bf16.f32") \
  X(1, 16, 32, "f32", "cvt.rm.bf16.f32") X(1, 16, 32, "f32", "cvt.rp.ftz.bf16.f32") X(1, 16, 32, "f32", "cvt.rn.relu.bf16.f32") \
  X(1, 16, 16, "bf16", "cvt.rn.f16.bf16") X(1, 16, 16, "f16", "cvt.rn.bf16.f16") X(1, 16, 16, "bf16", "cvt.rni.bf16.bf16") \
  X(1, 32, 32, "f32", "cvt.rna.tf32.f32") X(2, 32, 32, "f32", "cvt.rn.f16x2.f32") X(2, 32, 32, "f32", "cvt.rn.bf16x2.f32")
#define OPERATIONS(X) \
  ALL_MODES(X, 32, f32, "") ALL_MODES(X, 32, f32, ".ftz") ALL_MODES(X, 64, f64, "") SATURATED(X, ".rn") SATURATED(X, ".rp") \
  SIGNS(X, 32, f32) SIGNS(X, 64, f64) X(1, 32, 32, "f32", "abs.ftz.f32") X(1, 32, 32, "f32", "neg.ftz.f32") \
  EXTREMA(X, 32, f32, "") EXTREMA(X, 32, f32, ".ftz") EXTREMA(X, 32, f32, ".NaN") EXTREMA(X, 32, f32, ".xorsign.abs") \
  EXTREMA(X, 32, f32, ".NaN.xorsign.abs") EXTREMA(X, 64, f64, "") HALF(X, f16) HALF(X, bf16) \
  ARITHMETIC(X, 16, f16, ".rn.ftz") ARITHMETIC(X, 16, f16, ".rn.sat") ARITHMETIC(X, 16, f16, ".rn.ftz.sat") \
  X(3, 16, 16, "f16s", "fma.rn.ftz.relu.f16") EXTREMA(X, 16, f16, ".ftz") X(1, 16, 16, "f16", "ex2.approx.f16") \
  X(1, 16, 16, "bf16", "ex2.approx.ftz.bf16") APPROXIMATE(X, "") APPROXIMATE(X, ".ftz") SWEEP(X, "tanh.approx.f32") \
  X(1, 64, 64, "f64", "rcp.approx.ftz.f64") X(1, 64, 64, "f64", "rsqrt.approx.f64") X(1, 64, 64, "f64", "rsqrt.approx.ftz.f64") \
  CONVERSIONS(X) X(2, 32, 32, "f32", "copysign.f32") X(2, 64, 64, "f64", "copysign.f64")
// clang-format on

#define TYPE16 u16
#define TYPE32 u32
#define TYPE64 u64
#define CONSTRAINT16 "h"
#define CONSTRAINT32 "r"
#define CONSTRAINT64 "l"
#define INPUTS1(C) C(a)
#define INPUTS2(C) C(a), C(b)
#define INPUTS3(C) C(a), C(b), C(c)
#define ASM1 " %0, %1;"
#define ASM2 " %0, %1, %2;"
#define ASM3 " %0, %1, %2, %3;"

#pragma nv_diag_suppress 550  // operands that an operation does not have
enum { kFirst = __COUNTER__ };
#define CASE(ARITY, D, S, TABLE, TEXT)                                                   \
  case __COUNTER__ - kFirst - 1: {                                                       \
    TYPE##S a = TYPE##S(x), b = TYPE##S(y), c = TYPE##S(z);                              \
    (void)a, (void)b, (void)c;                                                           \
    TYPE##D d;                                                                           \
    asm volatile(TEXT ASM##ARITY : "=" CONSTRAINT##D(d) : INPUTS##ARITY(CONSTRAINT##S)); \
    return d;                                                                            \
  }
__device__ u64 compute(int op, u64 x, u64 y, u64 z) {
  switch (op) { OPERATIONS(CASE) }
  return 0;
}

__global__ void probe(int op, int arity, const u64* table, int n, int total, u64* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int last = i % n, middle = i / n % n, first = i / n / n;
  u64 x = table[arity == 3 ? first : arity == 2 ? middle : last];
  u64 y = table[arity == 3 ? middle : last];
  out[i] = compute(op, x, y, table[last]);
}

struct Operation {
  int arity;
  const char *table, *text;
};
#define ROW(ARITY, D, S, TABLE, TEXT) {ARITY, TABLE, TEXT},
static const Operation kOperations[] = {OPERATIONS(ROW)};

struct Table {
  std::string name;
  int bits;
  std::vector<u64> values;
};

// Zeros, the least and greatest subnormal, the least normal, values around one, ties, the greatest, infinities, and NaNs (quiet,
// signalling, with payload), of both signs.
static std::vector<u64> edges(int exponent_bits, int mantissa_bits) {
  u64 one = ((1ull << (exponent_bits - 1)) - 1) << mantissa_bits, inf = ((1ull << exponent_bits) - 1) << mantissa_bits,
      unit = 1ull << mantissa_bits;
  std::vector<u64> out;
  for (u64 v : {u64{0},
                u64{1},
                unit / 2,
                unit - 1,
                unit,
                unit + 1,
                one - unit,
                one - 1,
                one,
                one + 1,
                one + unit / 2,
                one + unit,
                one + unit + unit / 4,
                one + 7 * unit + 3,
                one + 15 * unit + 1,
                one - 12 * unit,
                inf - 1,
                inf,
                inf + unit / 2,
                inf + unit / 2 + 5,
                inf + 1,
                inf + unit / 4 + 3}) {
    out.push_back(v);
    out.push_back(v | 1ull << (exponent_bits + mantissa_bits));
  }
  return out;
}

// Values for triples: few, but of every kind.
static std::vector<u64> few(const std::vector<u64>& all) {
  std::vector<u64> out;
  for (int i : {0, 1, 2, 6, 8, 11, 16, 17, 18, 22, 32, 33, 34, 35, 36, 39, 40, 43}) out.push_back(all[i]);
  return out;
}

static std::vector<Table> tables() {
  std::vector<u64> f16 = edges(5, 10), bf16 = edges(8, 7), f32 = edges(8, 23), f64 = edges(11, 52), sweep = f32;
  for (u64 v : {0x4F000000ull, 0xCF000000ull, 0x4F800000ull, 0x5F000000ull, 0xDF000000ull, 0x5F800000ull, 0x477FE000ull, 0x477FF000ull,
                0x33000000ull, 0x33000001ull, 0x387FF000ull, 0x3F802000ull, 0x3F803000ull, 0x3F808000ull, 0x3F818000ull, 0x7F7F8000ull})
    f32.push_back(v);
  for (u64 v : {0x41E0000000000000ull, 0xC1E0000000000000ull, 0xC1E0000000200000ull, 0x43E0000000000000ull, 0xC3E0000000000000ull,
                0x43F0000000000000ull, 0x47EFFFFFE0000000ull, 0x47EFFFFFF0000000ull, 0x3690000000000000ull, 0x36A8000000000000ull,
                0x380FFFFFE0000000ull, 0x380FFFFFFFFFFFFFull, 0x40EFFE0000000000ull, 0x40EFFDFFFFFFFFFFull, 0x3E60000000000000ull,
                0x3FF0020000000001ull, 0x3FF0010000000001ull, 0x3FF0000010000001ull})
    f64.push_back(v);
  for (u32 exponent = 0; exponent < 255; exponent++)
    for (u32 mantissa : {0u, 0x2AAAAAu, 0x490FDBu, 0x7FFFFFu})
      for (u32 sign : {0u, 1u}) sweep.push_back(sign << 31 | exponent << 23 | mantissa);
  return {{"f16", 16, f16},         {"bf16", 16, bf16},     {"f32", 32, f32},       {"f64", 64, f64},    {"f16s", 16, few(f16)},
          {"bf16s", 16, few(bf16)}, {"f32s", 32, few(f32)}, {"f64s", 64, few(f64)}, {"sweep", 32, sweep}};
}

static void print(const std::vector<u64>& values) {
  for (size_t i = 0; i < values.size();) {
    size_t j = i;
    while (j < values.size() && values[j] == values[i]) j++;
    printf(j - i > 1 ? " %llx*%zu" : " %llx", values[i], j - i);
    i = j;
  }
  printf("\n");
}

int main() {
  for (const Table& t : tables()) {
    printf("table %s %d", t.name.c_str(), t.bits);
    print(t.values);
  }
  for (size_t op = 0; op < sizeof kOperations / sizeof *kOperations; op++) {
    const Operation& o = kOperations[op];
    for (const Table& t : tables()) {
      if (t.name != o.table) continue;
      int n = int(t.values.size()), total = o.arity == 1 ? n : o.arity == 2 ? n * n : n * n * n;
      u64 *in, *out;
      std::vector<u64> host(total);
      cudaMalloc(&in, n * sizeof(u64));
      cudaMalloc(&out, total * sizeof(u64));
      cudaMemcpy(in, t.values.data(), n * sizeof(u64), cudaMemcpyHostToDevice);
      probe<<<(total + 127) / 128, 128>>>(int(op), o.arity, in, n, total, out);
      cudaError_t error = cudaMemcpy(host.data(), out, total * sizeof(u64), cudaMemcpyDeviceToHost);
      if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", o.text, cudaGetErrorString(error));
        return 1;
      }
      printf("op %s %d %s:", o.text, o.arity, o.table);
      print(host);
      cudaFree(in);
      cudaFree(out);
    }
  }
  return 0;
}
