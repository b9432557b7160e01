#include "directed.h"

#include <cfenv>
#include <cmath>

namespace ws {
namespace {

int host_mode(uint32_t mode) {
  switch (static_cast<DirectedMode>(mode)) {
    case DirectedMode::Down:
      return FE_DOWNWARD;
    case DirectedMode::Up:
      return FE_UPWARD;
    default:
      return FE_TOWARDZERO;
  }
}

template <class T>
T apply(DirectedOp op, T a, T b, T c) {
  switch (op) {
    case DirectedOp::Add:
      return a + b;
    case DirectedOp::Sub:
      return a - b;
    case DirectedOp::Mul:
      return a * b;
    case DirectedOp::Div:
      return a / b;
    case DirectedOp::Sqrt:
      return std::sqrt(a);
    default:
      return std::fma(a, b, c);
  }
}

template <class T>
void directed(uint32_t op, uint32_t mode, uint32_t lanes, const T* a, const T* b, const T* c, T* out) {
  const int before = std::fegetround();
  std::fesetround(host_mode(mode));
  for (uint32_t lane = 0; lane < lanes; lane++) {
    // volatile: compilers do not know that arithmetic depends on the rounding mode, and would move it across the calls that set it.
    volatile T x = a[lane], y = b[lane], z = c[lane];
    volatile T result = apply<T>(static_cast<DirectedOp>(op), x, y, z);
    out[lane] = result;
  }
  std::fesetround(before);
}

}  // namespace

extern "C" {

void ws_directed_f32(uint32_t op, uint32_t mode, uint32_t lanes, const float* a, const float* b, const float* c, float* out) {
  directed<float>(op, mode, lanes, a, b, c, out);
}

void ws_directed_f64(uint32_t op, uint32_t mode, uint32_t lanes, const double* a, const double* b, const double* c, double* out) {
  directed<double>(op, mode, lanes, a, b, c, out);
}

}  // extern "C"
}  // namespace ws
