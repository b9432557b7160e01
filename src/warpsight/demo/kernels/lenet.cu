// The layers of LeNet-5 as the demo runs them. Tensors are dense float32, images before channels before rows (NCHW).

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kTap = 5;  // every convolution of LeNet-5 is 5 x 5, stride 1, no padding

// out[n][o] = relu(bias[o] + sum over c of in[n][c] * weight[o][c]); grid (filters, images), one CTA makes one output plane.
// Dynamic shared memory: channels * (height * width + 25) floats, the CTA's input planes and its filter.
extern "C" __global__ void conv5x5_relu(const float* __restrict__ in, const float* __restrict__ weight, const float* __restrict__ bias,
                                        float* __restrict__ out, int channels, int height, int width) {
  extern __shared__ float planes[];
  const int plane = height * width;
  float* taps = planes + channels * plane;
  const int filter = blockIdx.x, filters = gridDim.x, image = blockIdx.y;

  for (int i = threadIdx.x; i < channels * plane; i += blockDim.x) planes[i] = in[image * channels * plane + i];
  for (int i = threadIdx.x; i < channels * kTap * kTap; i += blockDim.x) taps[i] = weight[filter * channels * kTap * kTap + i];
  __syncthreads();

  const int out_width = width - kTap + 1, out_plane = (height - kTap + 1) * out_width;
  for (int pixel = threadIdx.x; pixel < out_plane; pixel += blockDim.x) {
    const int corner = pixel / out_width * width + pixel % out_width;
    float sum = bias[filter];
    for (int channel = 0; channel < channels; ++channel) {
      const float* window = planes + channel * plane + corner;
      const float* tap = taps + channel * kTap * kTap;
#pragma unroll
      for (int y = 0; y < kTap; ++y) {
#pragma unroll
        for (int x = 0; x < kTap; ++x) sum = fmaf(window[y * width + x], tap[y * kTap + x], sum);
      }
    }
    out[(image * filters + filter) * out_plane + pixel] = fmaxf(sum, 0.0f);
  }
}

// Largest of every 2 x 2 block; one thread an output. `planes` counts images times channels, `size` is the side of the square output.
extern "C" __global__ void max_pool2x2(const float* __restrict__ in, float* __restrict__ out, int planes, int size) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= planes * size * size) return;
  const int column = index % size, row = index / size % size, plane = index / (size * size);
  const float* block = in + plane * 4 * size * size + row * 4 * size + column * 2;
  out[index] = fmaxf(fmaxf(block[0], block[1]), fmaxf(block[2 * size], block[2 * size + 1]));
}

// out[n][o] = bias[o] + in[n] . weight[o], through relu when asked; grid (ceil(outputs / warps per CTA), images), one warp an output.
extern "C" __global__ void fully_connected(const float* __restrict__ in, const float* __restrict__ weight, const float* __restrict__ bias,
                                           float* __restrict__ out, int inputs, int outputs, int relu) {
  const int lane = threadIdx.x % kWarp;
  const int output = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (output >= outputs) return;
  const float* x = in + blockIdx.y * inputs;
  const float* w = weight + output * inputs;
  float sum = 0.0f;
  for (int i = lane; i < inputs; i += kWarp) sum = fmaf(x[i], w[i], sum);
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (lane == 0) {
    sum += bias[output];
    out[blockIdx.y * outputs + output] = relu ? fmaxf(sum, 0.0f) : sum;
  }
}

// Row-wise softmax of at most 32 classes; one warp a row.
extern "C" __global__ void softmax(const float* __restrict__ logits, float* __restrict__ out, int rows, int classes) {
  const int lane = threadIdx.x % kWarp;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const float logit = lane < classes ? logits[row * classes + lane] : -INFINITY;
  float largest = logit;
  for (int offset = kWarp / 2; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, offset));
  const float weight = __expf(logit - largest);
  float sum = weight;
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (lane < classes) out[row * classes + lane] = weight / sum;
}
