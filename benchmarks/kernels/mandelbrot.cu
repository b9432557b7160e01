// Iterations until z = z^2 + c leaves the circle of radius 2, at most `limit`, over the square from -2-1.5i to 1+1.5i: lanes diverge.

extern "C" __global__ void mandelbrot(int* __restrict__ iterations, int size, int limit) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= size || row >= size) return;
  const float step = 3.0f / size;
  const float real = -2.0f + column * step, imaginary = -1.5f + row * step;
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < limit && x * x + y * y <= 4.0f) {
    const float next = x * x - y * y + real;
    y = 2.0f * x * y + imaginary;
    x = next;
    ++count;
  }
  iterations[row * size + column] = count;
}
