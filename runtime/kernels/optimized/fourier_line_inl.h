// Transforms of one line at a time; part of fourier_kernels_inl.h. Loops over the numbers of a vector
// become vector instructions; everything has internal linkage.

namespace {

using etlab::FourierLinePlan;

// One line. With M = length / 2 numbers z, W = width and R = M / W, number l + W * r is place l of
// lane r, and frequency k + R * m is
//   sum over l of e^(-2 pi i l m / W) e^(-2 pi i l k / M) sum over r of e^(-2 pi i r k / R) z
// Vectors have at least W places; what the others hold is looked at by nobody.
template <int64_t kWidth>
struct LineTransform {
  static constexpr int64_t kLanes = etlab::fourier_lanes(kWidth);
  struct Vector {
    float real[kLanes];
    float imaginary[kLanes];
  };
  static constexpr int64_t kFirstRadix = kWidth % 4 == 0 ? 4 : (kWidth % 2 == 0 ? 2 : 3);
  static constexpr int64_t kRadices[2] = {kFirstRadix, kWidth / kFirstRadix};
  static constexpr int64_t kRadixCount = kWidth == 4 ? 1 : 2;

  const FourierLinePlan& plan;
  float sign;
  int64_t half = plan.length / 2;
  int64_t rows = half / kWidth;

  // Transforms (rows) vectors at `values` and calls give(first, count, real, imaginary) with every
  // run of frequencies; `spare` has room for as many.
  template <typename Give>
  void run(Vector* values, Vector* spare, const Give& give) const {
    const Stage<Vector> by_rows{plan.roots, 2 * kWidth, rows, nullptr, nullptr, 0, 0, sign};
    const Vector* found = transform(by_rows, plan.radices, plan.radix_count, values, spare);
    const Stage<Vector> across{plan.roots, 2 * rows, kWidth, nullptr, nullptr, 0, 0, sign};
    for (int64_t first = 0; first < rows; first += kLanes) {
      const int64_t count = rows - first < kLanes ? rows - first : kLanes;
      Vector block[kWidth] = {};
      Vector other[kWidth];
      for (int64_t i = 0; i < count; ++i) turn_into(found[first + i], first + i, i, block);
      const Vector* columns = transform(across, kRadices, kRadixCount, block, other);
      for (int64_t m = 0; m < kWidth; ++m) {
        give(first + rows * m, count, columns[m].real, columns[m].imaginary);
      }
    }
  }

  // Turns row `row` by its roots and writes it as column `column` of the block.
  void turn_into(const Vector& given, int64_t row, int64_t column, Vector* block) const {
    const float* real = plan.twist_parts[0] + row * kLanes;
    const float* imaginary = plan.twist_parts[1] + row * kLanes;
    Vector turned;
    for (int64_t l = 0; l < kLanes; ++l) {
      const float turn = -sign * imaginary[l];
      turned.real[l] = given.real[l] * real[l] - given.imaginary[l] * turn;
      turned.imaginary[l] = given.real[l] * turn + given.imaginary[l] * real[l];
    }
    for (int64_t l = 0; l < kWidth; ++l) block[l].real[column] = turned.real[l];
    for (int64_t l = 0; l < kWidth; ++l) block[l].imaginary[column] = turned.imaginary[l];
  }
};

// No NaN or denormal number is computed with.
template <int64_t kWidth, typename Vector>
ETLAB_INLINE void clear_unused(Vector& vector) {
  for (int64_t l = kWidth; l < kCount<Vector>; ++l) vector.real[l] = vector.imaginary[l] = 0;
}

template <int64_t kWidth>
void to_frequencies_by_width(const FourierLinePlan& plan, const float* line,
                             Complex<float>* result, float* scratch) {
  using Transform = LineTransform<kWidth>;
  using Vector = typename Transform::Vector;
  const Transform line_transform{plan, -1.0f};
  const int64_t half = line_transform.half;
  auto* values = reinterpret_cast<Vector*>(scratch);  // (rows)
  Vector* spare = values + line_transform.rows;
  float* real = scratch + 4 * Transform::kLanes * line_transform.rows;  // (half)
  float* imaginary = real + half;
  for (int64_t r = 0; r < line_transform.rows; ++r) {
    clear_unused<kWidth>(values[r]);
    for (int64_t l = 0; l < kWidth; ++l) {
      values[r].real[l] = line[2 * (r * kWidth + l)];
      values[r].imaginary[l] = line[2 * (r * kWidth + l) + 1];
    }
  }
  line_transform.run(values, spare,
                     [&](int64_t first, int64_t count, const float* reals, const float* imaginaries) {
                       for (int64_t i = 0; i < count; ++i) real[first + i] = reals[i];
                       for (int64_t i = 0; i < count; ++i) imaginary[first + i] = imaginaries[i];
                     });
  const float scale = plan.scale / 2;
  result[0] = {(real[0] + imaginary[0]) * plan.scale, 0.0f};
  result[half] = {(real[0] - imaginary[0]) * plan.scale, 0.0f};
  for (int64_t k = 1; k < half; ++k) {
    const float cosine = plan.root_parts[0][k];
    const float sine = plan.root_parts[1][k];
    const float difference = real[k] - real[half - k];
    const float sum = imaginary[k] + imaginary[half - k];
    const float odd = difference * cosine - sum * sine;
    const float odd_imaginary = difference * sine + sum * cosine;
    result[k].real = (real[k] + real[half - k] + odd_imaginary) * scale;
    result[k].imaginary = (imaginary[k] - imaginary[half - k] - odd) * scale;
  }
}

template <int64_t kWidth>
void from_frequencies_by_width(const FourierLinePlan& plan, const Complex<float>* line,
                               float* result, float* scratch) {
  using Transform = LineTransform<kWidth>;
  using Vector = typename Transform::Vector;
  const Transform line_transform{plan, 1.0f};
  const int64_t half = line_transform.half;
  auto* values = reinterpret_cast<Vector*>(scratch);  // (rows)
  Vector* spare = values + line_transform.rows;
  for (int64_t r = 0; r < line_transform.rows; ++r) {
    clear_unused<kWidth>(values[r]);
    for (int64_t l = 0; l < kWidth; ++l) {
      const int64_t k = r * kWidth + l;
      const float cosine = plan.root_parts[0][k];
      const float sine = plan.root_parts[1][k];
      const float difference = line[k].real - line[half - k].real;
      const float sum = line[k].imaginary + line[half - k].imaginary;
      const float odd = difference * cosine + sum * sine;
      const float odd_imaginary = sum * cosine - difference * sine;
      values[r].real[l] = line[k].real + line[half - k].real - odd_imaginary;
      values[r].imaginary[l] = line[k].imaginary - line[half - k].imaginary + odd;
    }
  }
  values[0].real[0] = line[0].real + line[half].real;  // whatever the imaginary parts are
  values[0].imaginary[0] = line[0].real - line[half].real;
  const float scale = plan.scale;
  line_transform.run(values, spare,
                     [&](int64_t first, int64_t count, const float* reals, const float* imaginaries) {
                       for (int64_t i = 0; i < count; ++i) {
                         result[2 * (first + i)] = reals[i] * scale;
                         result[2 * (first + i) + 1] = imaginaries[i] * scale;
                       }
                     });
}

void line_to_frequencies(const FourierLinePlan& plan, const float* line, Complex<float>* result,
                         float* scratch) {
  switch (plan.width) {
    case 16: return to_frequencies_by_width<16>(plan, line, result, scratch);
    case 15: return to_frequencies_by_width<15>(plan, line, result, scratch);
    case 12: return to_frequencies_by_width<12>(plan, line, result, scratch);
    case 10: return to_frequencies_by_width<10>(plan, line, result, scratch);
    case 8: return to_frequencies_by_width<8>(plan, line, result, scratch);
    default: return to_frequencies_by_width<4>(plan, line, result, scratch);
  }
}

void line_from_frequencies(const FourierLinePlan& plan, const Complex<float>* line, float* result,
                           float* scratch) {
  switch (plan.width) {
    case 16: return from_frequencies_by_width<16>(plan, line, result, scratch);
    case 15: return from_frequencies_by_width<15>(plan, line, result, scratch);
    case 12: return from_frequencies_by_width<12>(plan, line, result, scratch);
    case 10: return from_frequencies_by_width<10>(plan, line, result, scratch);
    case 8: return from_frequencies_by_width<8>(plan, line, result, scratch);
    default: return from_frequencies_by_width<4>(plan, line, result, scratch);
  }
}

}  // namespace
