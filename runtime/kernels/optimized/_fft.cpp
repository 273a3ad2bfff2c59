#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/fourier_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMostRadices = 64;

// The factors of `number` among 4, 2, 3 and 5; 0 when there are others.
int64_t factor(int64_t number, int64_t* radices) {
  int64_t count = 0;
  for (const int64_t radix : {4, 2, 3, 5}) {
    for (; number % radix == 0; number /= radix) radices[count++] = radix;
  }
  return number == 1 ? count : 0;
}

int64_t last_size(const Tensor& tensor) { return tensor.size(tensor.dim() - 1); }

bool is_last_dim(Span<const int64_t> dim, const Tensor& self) {
  return dim.size() == 1 && self.dim() > 0 && (dim[0] == -1 || dim[0] == self.dim() - 1);
}

bool is_even_and_smooth(int64_t length) {
  int64_t radices[kMostRadices];
  return length >= 4 && length % 2 == 0 && factor(length / 2, radices) > 0;
}

bool is_complex_float(const Tensor& tensor) {
  return tensor.type() == ScalarType::kComplexFloat && tensor.is_contiguous();
}

bool supports_r2c(Context&, const Tensor& self, Span<const int64_t> dim, int64_t normalization,
                  bool onesided, Tensor& out) {
  return onesided && normalization >= 0 && normalization <= 2 && is_row_major_float(self) &&
         self.numel() > 0 && is_last_dim(dim, self) && is_even_and_smooth(last_size(self)) &&
         out.type() == ScalarType::kComplexFloat && stays_row_major(out, self.dim());
}

bool supports_c2r(Context&, const Tensor& self, Span<const int64_t> dim, int64_t normalization,
                  int64_t last_dim_size, Tensor& out) {
  return normalization >= 0 && normalization <= 2 && is_complex_float(self) && self.numel() > 0 &&
         is_last_dim(dim, self) && is_even_and_smooth(last_dim_size) &&
         last_size(self) == last_dim_size / 2 + 1 && is_row_major_output(out, self.dim());
}

// Roots of unity as products of a coarse and a fine one: two square roots of `length` sines.
const Complex<double>* make_roots(Context& context, int64_t length) {
  const auto fine_count = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(length))));
  auto* fine = context.allocate<Complex<double>>(fine_count);
  auto* roots = context.allocate<Complex<double>>(length);
  const auto root = [length](int64_t k) {
    const double angle = -2 * kPi * static_cast<double>(k) / static_cast<double>(length);
    return Complex<double>{std::cos(angle), std::sin(angle)};
  };
  for (int64_t k = 0; k < fine_count; ++k) fine[k] = root(k);
  for (int64_t begin = 0; begin < length; begin += fine_count) {
    const Complex<double> coarse = root(begin);
    const int64_t count = std::min(fine_count, length - begin);
    for (int64_t k = 0; k < count; ++k) roots[begin + k] = coarse * fine[k];
  }
  return roots;
}

// Runs `kernel` over all lines, eight at a time; the last ones are repeated to fill eight.
template <typename From, typename To, typename Kernel>
void for_each_line(Context& context, int64_t length, int64_t normalization, const Tensor& self,
                   Tensor& out, const Kernel& kernel) {
  int64_t radices[kMostRadices];
  const int64_t radix_count = factor(length / 2, radices);
  const auto count = static_cast<double>(length);
  const double scale =
      normalization == 0 ? 1 : (normalization == 1 ? 1 / std::sqrt(count) : 1 / count);
  const FourierPlan plan{length, radices, radix_count, make_roots(context, length), scale};
  const int64_t from_size = last_size(self);
  const int64_t to_size = last_size(out);
  const int64_t lines = self.numel() / from_size;
  auto* scratch = context.allocate<FourierLane>(length * context.thread_count());
  // Lines that are repeated give their results to nobody.
  auto* unused = context.allocate<To>(to_size * context.thread_count());
  const From* from = self.data<From>();
  To* to = out.data<To>();
  const auto run = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t block = begin; block < end; ++block) {
      const From* sources[kFourierLines];
      To* results[kFourierLines];
      for (int64_t i = 0; i < kFourierLines; ++i) {
        const int64_t line = block * kFourierLines + i;
        sources[i] = from + std::min(line, lines - 1) * from_size;
        results[i] = line < lines ? to + line * to_size : unused + to_size * worker;
      }
      kernel(plan, sources, results, scratch + length * worker);
    }
  };
  const int64_t grain = std::max<int64_t>(1, 1024 / length);
  context.parallel_for((lines + kFourierLines - 1) / kFourierLines, grain, run);
}

void fft_r2c_out(Context& context, const Tensor& self, Span<const int64_t>, int64_t normalization,
                 bool, Tensor& out) {
  const int64_t length = last_size(self);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes.back() = length / 2 + 1;
  out.resize(sizes);
  for_each_line<float, Complex<float>>(
      context, length, normalization, self, out,
      ETLAB_FOR_INSTRUCTION_SET(fourier_kernels).to_frequencies);
}

void fft_c2r_out(Context& context, const Tensor& self, Span<const int64_t>, int64_t normalization,
                 int64_t last_dim_size, Tensor& out) {
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes.back() = last_dim_size;
  out.resize(sizes);
  for_each_line<Complex<float>, float>(
      context, last_dim_size, normalization, self, out,
      ETLAB_FOR_INSTRUCTION_SET(fourier_kernels).from_frequencies);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::_fft_r2c.out", fft_r2c_out, supports_r2c);
ETLAB_OPTIMIZED_KERNEL("aten::_fft_c2r.out", fft_c2r_out, supports_c2r);
}  // namespace etlab
