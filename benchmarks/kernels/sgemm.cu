// C = A B for square row-major matrices whose side is a multiple of 16: one CTA a 16 x 16 tile of C, one thread an element.

constexpr int kTile = 16;

extern "C" __global__ void sgemm_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; k += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    b_tile[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum = fmaf(a_tile[threadIdx.y][i], b_tile[i][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}
