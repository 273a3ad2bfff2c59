#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
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
constexpr int64_t kNarrow = 4;  // a width that leaves vectors half empty

// The factors of `number` among 4, 2, 3 and 5; 0 when there are others, or none.
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
std::vector<Complex<double>> make_roots(int64_t length) {
  const auto fine_count = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(length))));
  std::vector<Complex<double>> fine(static_cast<size_t>(fine_count));
  std::vector<Complex<double>> roots(static_cast<size_t>(length));
  const auto root = [length](int64_t k) {
    const double angle = -2 * kPi * static_cast<double>(k) / static_cast<double>(length);
    return Complex<double>{std::cos(angle), std::sin(angle)};
  };
  for (int64_t k = 0; k < fine_count; ++k) fine[static_cast<size_t>(k)] = root(k);
  for (int64_t begin = 0; begin < length; begin += fine_count) {
    const Complex<double> coarse = root(begin);
    const int64_t count = std::min(fine_count, length - begin);
    for (int64_t k = 0; k < count; ++k) {
      roots[static_cast<size_t>(begin + k)] = coarse * fine[static_cast<size_t>(k)];
    }
  }
  return roots;
}

// What the transforms of one length need, as FourierPlan and FourierLinePlan describe it.
struct Tables {
  std::vector<Complex<double>> roots;
  int64_t width = 0;  // of one line; 0: only lines together can be transformed
  std::vector<float> parts;  // of the roots, then of the twists, each real and imaginary

  explicit Tables(int64_t length) : roots(make_roots(length)) {
    const int64_t half = length / 2;
    for (const int64_t each : {4, 8, 16}) {
      if (half % each == 0 && (width == 0 || half / each >= each)) width = each;
    }
    if (width <= kNarrow) {
      for (const int64_t each : {10, 12, 15}) {
        if (half % each == 0 && half / each >= each) width = each;
      }
    }
    if (width == 0) return;
    const auto count = static_cast<size_t>(half);
    parts.resize(2 * (count + twist_count(half)));
    for (size_t k = 0; k < count; ++k) {
      const size_t row = k / static_cast<size_t>(width);
      const size_t column = k % static_cast<size_t>(width);
      const Complex<double>& twist = roots[2 * row * column];
      parts[k] = static_cast<float>(roots[k].real);
      parts[count + k] = static_cast<float>(roots[k].imaginary);
      const size_t place = 2 * count + row * static_cast<size_t>(fourier_lanes(width)) + column;
      parts[place] = static_cast<float>(twist.real);
      parts[place + twist_count(half)] = static_cast<float>(twist.imaginary);
    }
  }
  // Twists with the unused places of vectors, which are zero.
  size_t twist_count(int64_t half) const {
    return static_cast<size_t>(half / width * fourier_lanes(width));
  }
};

// Tables of the lengths that were asked for last: making them takes longer than to transform a line.
std::shared_ptr<const Tables> tables_for(int64_t length) {
  constexpr size_t kKept = 8;
  constexpr int64_t kLongest = int64_t{1} << 16;
  struct Kept {
    std::mutex mutex;
    std::vector<std::pair<int64_t, std::shared_ptr<const Tables>>> last;  // the newest at the end
  };
  static Kept kept;
  if (length > kLongest) return std::make_shared<const Tables>(length);
  const std::lock_guard<std::mutex> lock(kept.mutex);
  const auto found = std::find_if(kept.last.begin(), kept.last.end(),
                                  [length](const auto& entry) { return entry.first == length; });
  if (found != kept.last.end()) {
    std::rotate(found, found + 1, kept.last.end());
  } else {
    if (kept.last.size() == kKept) kept.last.erase(kept.last.begin());
    kept.last.emplace_back(length, std::make_shared<const Tables>(length));
  }
  return kept.last.back().second;
}

// How the kernels of one direction are called.
template <typename From, typename To>
struct Direction {
  void (*lines_together)(const FourierPlan&, const From* const*, To* const*, FourierLane*);
  void (*one_line)(const FourierLinePlan&, const From*, To*, float*);
};

// kFourierLines at a time; the last ones are repeated to fill up.
template <typename From, typename To>
void transform_together(Context& context, const FourierPlan& plan, const Tensor& self, Tensor& out,
                        const Direction<From, To>& direction) {
  const int64_t from_size = last_size(self);
  const int64_t to_size = last_size(out);
  const int64_t lines = self.numel() / from_size;
  auto* scratch = context.allocate<FourierLane>(plan.length * context.thread_count());
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
      direction.lines_together(plan, sources, results, scratch + plan.length * worker);
    }
  };
  const int64_t grain = std::max<int64_t>(1, 1024 / plan.length);
  context.parallel_for((lines + kFourierLines - 1) / kFourierLines, grain, run);
}

template <typename From, typename To>
void for_each_line(Context& context, int64_t length, int64_t normalization, const Tensor& self,
                   Tensor& out, const Direction<From, To>& direction) {
  const std::shared_ptr<const Tables> tables = tables_for(length);
  const auto count = static_cast<double>(length);
  const auto scale = static_cast<float>(
      normalization == 0 ? 1 : (normalization == 1 ? 1 / std::sqrt(count) : 1 / count));
  const int64_t from_size = last_size(self);
  const int64_t lines = self.numel() / from_size;
  int64_t radices[kMostRadices];
  const bool fills_more_together = tables->width <= kNarrow && lines >= kFourierLines;
  if (tables->width == 0 || fills_more_together) {
    const int64_t radix_count = factor(length / 2, radices);
    const FourierPlan plan{length, radices, radix_count, tables->roots.data(), scale};
    transform_together(context, plan, self, out, direction);
    return;
  }
  const float* parts = tables->parts.data();
  const int64_t half = length / 2;
  const FourierLinePlan plan{length,
                             tables->width,
                             radices,
                             factor(half / tables->width, radices),
                             tables->roots.data(),
                             {parts, parts + half},
                             {parts + 2 * half, parts + 2 * half + tables->twist_count(half)},
                             scale};
  const int64_t to_size = last_size(out);
  const int64_t scratch_size = kFourierLineScratch * length;
  auto* scratch = context.allocate<float>(scratch_size * context.thread_count());
  const From* from = self.data<From>();
  To* to = out.data<To>();
  const int64_t grain = std::max<int64_t>(1, 8192 / length);
  context.parallel_for(lines, grain,
                       [&](int64_t begin, int64_t end, int worker) {
                         for (int64_t i = begin; i < end; ++i) {
                           direction.one_line(plan, from + i * from_size, to + i * to_size,
                                              scratch + scratch_size * worker);
                         }
                       });
}

void fft_r2c_out(Context& context, const Tensor& self, Span<const int64_t>, int64_t normalization,
                 bool, Tensor& out) {
  const int64_t length = last_size(self);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes.back() = length / 2 + 1;
  out.resize(sizes);
  const FourierKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(fourier_kernels);
  for_each_line<float, Complex<float>>(context, length, normalization, self, out,
                                       {kernels.to_frequencies, kernels.line_to_frequencies});
}

void fft_c2r_out(Context& context, const Tensor& self, Span<const int64_t>, int64_t normalization,
                 int64_t last_dim_size, Tensor& out) {
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes.back() = last_dim_size;
  out.resize(sizes);
  const FourierKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(fourier_kernels);
  for_each_line<Complex<float>, float>(context, last_dim_size, normalization, self, out,
                                       {kernels.from_frequencies, kernels.line_from_frequencies});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::_fft_r2c.out", fft_r2c_out, supports_r2c);
ETLAB_OPTIMIZED_KERNEL("aten::_fft_c2r.out", fft_c2r_out, supports_c2r);
}  // namespace etlab
