// Float operations with directed rounding, called from compiled handlers: the host's rounding mode is set around the loop over lanes.
#pragma once

#include <cstdint>

namespace ws {

// Codes of the lane language's `directed` (lanes/llvm_builder.py).
enum class DirectedOp : uint32_t { Add = 0, Sub = 1, Mul = 2, Div = 3, Sqrt = 4, Fma = 5 };
enum class DirectedMode : uint32_t { TowardZero = 0, Down = 1, Up = 2 };

// out[l] = op(a[l], b[l], c[l]) rounded by mode, for `lanes` lanes. Operands that the operation does not have may be anything.
extern "C" {
void ws_directed_f32(uint32_t op, uint32_t mode, uint32_t lanes, const float* a, const float* b, const float* c, float* out);
void ws_directed_f64(uint32_t op, uint32_t mode, uint32_t lanes, const double* a, const double* b, const double* c, double* out);
}

}  // namespace ws
