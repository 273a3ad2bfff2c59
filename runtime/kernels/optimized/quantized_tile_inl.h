// The plain sums of quantized_image_kernels_<isa>.cpp: loops that the compiler turns into vectors.

namespace {

constexpr int kTileWidth = 16;
constexpr int kTileRows = 4;
constexpr int kTileVectors = 4;
constexpr int32_t kPixelOffset = 0;

template <int rows, int vectors>
void quantized_tile(const etlab::QuantizedTile& t) {
  constexpr int columns = vectors * kTileWidth;
  const int8_t* b = t.b;
  int32_t sums[rows][columns] = {};
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const int8_t* const* pixels = t.rows + tap * t.row_step;
    for (int64_t g = 0; g < t.groups; ++g) {
      for (int r = 0; r < rows; ++r) {
        const int8_t* a = pixels[r] + etlab::kQuantizedGroup * g;
        const int32_t a0 = a[0];
        const int32_t a1 = a[1];
        const int32_t a2 = a[2];
        const int32_t a3 = a[3];
        for (int c = 0; c < columns; ++c) {
          sums[r][c] += a0 * b[4 * c] + a1 * b[4 * c + 1] + a2 * b[4 * c + 2] + a3 * b[4 * c + 3];
        }
      }
      b += etlab::kQuantizedGroup * columns;
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) t.sums[r * etlab::kQuantizedColumns + c] = sums[r][c];
  }
}

}  // namespace
