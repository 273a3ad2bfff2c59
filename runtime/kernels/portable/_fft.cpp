#include <algorithm>
#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/fourier.h"
#include "runtime/kernels/util/reduce.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

using Number = FourierTransform::Number;

// The complex numbers of a transform, row-major, in double.
struct Signal {
  Sizes sizes;
  Number* values;

  int64_t stride(size_t dim) const { return count_elements(sizes, dim + 1, sizes.size()); }
  int64_t numel() const { return count_elements(sizes, 0, sizes.size()); }
};

Signal read_signal(Context& context, const Tensor& self) {
  Signal signal{Sizes(self.sizes()), context.allocate<Number>(self.numel())};
  const Tensor values(ScalarType::kComplexDouble, self.sizes(), {}, signal.values,
                      static_cast<size_t>(self.numel()) * sizeof(Number));
  copy_converted(context, self, StridedView(values), values.type());
  return signal;
}

void write_signal(Context& context, const Signal& signal, Tensor& out) {
  const Tensor values(ScalarType::kComplexDouble, signal.sizes, {}, signal.values,
                      static_cast<size_t>(signal.numel()) * sizeof(Number));
  out.resize(signal.sizes);
  copy_converted(context, values, StridedView(out), out.type());
}

// Transforms every line along `dim` in place, several lines together.
void transform_lines(Context& context, const Signal& signal, size_t dim, bool inverse) {
  constexpr int64_t kLanes = FourierLanes::kCount;
  const int64_t length = signal.sizes[dim];
  const int64_t stride = signal.stride(dim);
  const FourierTransform transform(context, length, inverse);
  const int64_t scratch_size = length + transform.scratch_size();
  auto* scratch = context.allocate<FourierLanes>(scratch_size * context.thread_count());
  const int64_t lines = signal.numel() / length;
  const auto first_of = [&](int64_t line) {
    return signal.values + line / stride * stride * length + line % stride;
  };
  const auto transform_blocks = [&](int64_t begin, int64_t end, int worker) {
    FourierLanes* values = scratch + scratch_size * worker;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t count = std::min(kLanes, lines - block * kLanes);
      for (int64_t lane = 0; lane < kLanes; ++lane) {  // the last block repeats a line
        const Number* from = first_of(block * kLanes + std::min(lane, count - 1));
        for (int64_t j = 0; j < length; ++j) values[j].set(lane, from[j * stride]);
      }
      transform.run(values, values + length);
      for (int64_t lane = 0; lane < count; ++lane) {
        Number* to = first_of(block * kLanes + lane);
        for (int64_t j = 0; j < length; ++j) to[j * stride] = values[j].get(lane);
      }
    }
  };
  const int64_t blocks = (lines + kLanes - 1) / kLanes;
  context.parallel_for(blocks, std::max<int64_t>(1, 1024 / length), transform_blocks);
}

// 0: as it is, 1: over the root of the number of values in a transform, 2: over that number.
void scale(const char* who, const Signal& signal, int64_t normalization, double count) {
  ETLAB_CHECK(normalization >= 0 && normalization <= 2, kInvalidArgument, who,
              ": normalization must be 0, 1 or 2, got ", normalization);
  if (normalization == 0) return;
  const double factor = 1.0 / (normalization == 1 ? std::sqrt(count) : count);
  const int64_t numel = signal.numel();
  for (int64_t i = 0; i < numel; ++i) signal.values[i] = signal.values[i] * Number{factor};
}

// The same lines with another number of values: value(line, position) of the old ones.
template <typename Value>
Signal with_length(Context& context, const Signal& signal, size_t dim, int64_t length,
                   const Value& value) {
  Signal result{signal.sizes, nullptr};
  result.sizes[dim] = length;
  result.values = context.allocate<Number>(result.numel());
  const int64_t stride = signal.stride(dim);
  const int64_t outer = count_elements(signal.sizes, 0, dim);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < length; ++j) {
      for (int64_t k = 0; k < stride; ++k) {
        const Number* line = signal.values + i * signal.sizes[dim] * stride + k;
        result.values[(i * length + j) * stride + k] = value(line, stride, j);
      }
    }
  }
  return result;
}

// The dimensions of a transform, checked; the last one is the one that is halved.
Sizes transformed_dims(const char* who, const Tensor& self, Span<const int64_t> dims) {
  ETLAB_CHECK(!dims.empty(), kInvalidArgument, who, ": no dimension to transform is given");
  util::dim_mask(who, dims, self.dim());
  Sizes result;
  for (const int64_t dim : dims) {
    result.push_back(normalize_dim(who, dim, self.dim()));
    ETLAB_CHECK(self.dim() > 0 && self.size(dim) > 0, kInvalidArgument, who, ": dimension ", dim,
                " of ", describe(self), " has nothing to transform");
  }
  return result;
}

double count_of(const Signal& signal, const Sizes& dims) {
  double count = 1;
  for (const int64_t dim : dims) {
    count *= static_cast<double>(signal.sizes[static_cast<size_t>(dim)]);
  }
  return count;
}

void fft_r2c_out(Context& context, const Tensor& self, Span<const int64_t> dim,
                 int64_t normalization, bool onesided, Tensor& out) {
  const char* who = "aten::_fft_r2c.out";
  const Sizes dims = transformed_dims(who, self, dim);
  ETLAB_CHECK(is_floating(self.type()) && is_complex(out.type()), kInvalidArgument, who,
              ": expected a float input and a complex output, got ", describe(self), " and ",
              describe(out));
  Signal signal = read_signal(context, self);
  for (size_t i = dims.size(); i-- > 0;) {
    transform_lines(context, signal, static_cast<size_t>(dims[i]), false);
  }
  scale(who, signal, normalization, count_of(signal, dims));
  if (onesided) {
    const auto last = static_cast<size_t>(dims[dims.size() - 1]);
    signal = with_length(context, signal, last, signal.sizes[last] / 2 + 1,
                         [](const Number* line, int64_t stride, int64_t j) {
                           return line[j * stride];
                         });
  }
  write_signal(context, signal, out);
}

void fft_c2r_out(Context& context, const Tensor& self, Span<const int64_t> dim,
                 int64_t normalization, int64_t last_dim_size, Tensor& out) {
  const char* who = "aten::_fft_c2r.out";
  const Sizes dims = transformed_dims(who, self, dim);
  ETLAB_CHECK(is_complex(self.type()) && is_floating(out.type()), kInvalidArgument, who,
              ": expected a complex input and a float output, got ", describe(self), " and ",
              describe(out));
  const auto last = static_cast<size_t>(dims[dims.size() - 1]);
  ETLAB_CHECK(last_dim_size >= 1 && self.sizes()[last] == last_dim_size / 2 + 1, kInvalidArgument,
              who, ": ", last_dim_size, " real values have ", last_dim_size / 2 + 1,
              " frequencies, got ", self.sizes()[last]);
  Signal signal = read_signal(context, self);
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    transform_lines(context, signal, static_cast<size_t>(dims[i]), true);
  }
  // The missing frequencies are the conjugates of the given ones; those that are their own
  // conjugates are real, whatever the input holds.
  signal = with_length(context, signal, last, last_dim_size,
                       [last_dim_size](const Number* line, int64_t stride, int64_t j) {
                         if (2 * j % last_dim_size == 0) return Number{line[j * stride].real};
                         if (2 * j < last_dim_size) return line[j * stride];
                         return conjugate(line[(last_dim_size - j) * stride]);
                       });
  transform_lines(context, signal, last, true);
  scale(who, signal, normalization, count_of(signal, dims));
  write_signal(context, signal, out);
}

void fft_c2c_out(Context& context, const Tensor& self, Span<const int64_t> dim,
                 int64_t normalization, bool forward, Tensor& out) {
  const char* who = "aten::_fft_c2c.out";
  const Sizes dims = transformed_dims(who, self, dim);
  ETLAB_CHECK(is_complex(self.type()) && is_complex(out.type()), kInvalidArgument, who,
              ": expected complex tensors, got ", describe(self), " and ", describe(out));
  const Signal signal = read_signal(context, self);
  for (const int64_t one : dims) {
    transform_lines(context, signal, static_cast<size_t>(one), !forward);
  }
  scale(who, signal, normalization, count_of(signal, dims));
  write_signal(context, signal, out);
}

}  // namespace
ETLAB_KERNEL("aten::_fft_r2c.out", fft_r2c_out);
ETLAB_KERNEL("aten::_fft_c2r.out", fft_c2r_out);
ETLAB_KERNEL("aten::_fft_c2c.out", fft_c2c_out);
}  // namespace etlab
