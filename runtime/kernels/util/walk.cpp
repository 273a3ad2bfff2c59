#include "runtime/kernels/util/walk.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kGrain = 32768;
constexpr int64_t kGathered = 128;      // elements brought together before they are converted
constexpr size_t kLargestElement = 16;  // bytes

template <typename T>
void gather(const std::byte* source, int64_t stride, int64_t count, std::byte* target) {
  const T* from = reinterpret_cast<const T*>(source);
  T* to = reinterpret_cast<T*>(target);
  if (stride == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

template <typename T>
void round_all(ScalarType type, int64_t count, T* values) {
  if (type == ScalarType::kHalf) {
    for (int64_t i = 0; i < count; ++i) values[i] = cast<T>(cast<Half>(values[i]));
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = cast<T>(cast<BFloat16>(values[i]));
  }
}

}  // namespace

void Walk::append(int64_t size, int64_t stride) {
  if (size == 1) return;
  if (rank > 0 && strides[rank - 1] == size * stride) {
    sizes[rank - 1] *= size;
    strides[rank - 1] = stride;
    return;
  }
  sizes[rank] = size;
  strides[rank] = stride;
  ++rank;
}

Walk::Walk(const char* op, const Tensor& input, const Tensor& order) {
  const int64_t missing = order.dim() - input.dim();
  ETLAB_CHECK(missing >= 0, kInvalidArgument, op, ": sizes ", describe(input.sizes()),
              " do not broadcast to ", describe(order.sizes()));
  for (const uint8_t dim : order.dim_order()) {
    const int64_t size = order.size(dim);
    const int64_t input_dim = dim - missing;
    const int64_t input_size = input_dim < 0 ? 1 : input.size(input_dim);
    ETLAB_CHECK(input_size == size || input_size == 1, kInvalidArgument, op, ": sizes ",
                describe(input.sizes()), " do not broadcast to ", describe(order.sizes()));
    append(size, input_size == 1 ? 0 : input.stride(input_dim));
  }
}

Walk::Walk(const Tensor& input) {
  for (int64_t dim = 0; dim < input.dim(); ++dim) append(input.size(dim), input.stride(dim));
}

namespace util {

ElementReader::ElementReader(const Tensor& input, const Walk& walk, ScalarType target)
    : walk_(walk),
      data_(static_cast<const std::byte*>(input.raw())),
      source_bytes_(element_size(input.type())),
      target_bytes_(element_size(target)),
      convert_(find_conversion("reading a tensor", input.type(), target)),
      converts_(input.type() != target || target == ScalarType::kBool) {}

void ElementReader::read_run(const std::byte* source, int64_t stride, int64_t count,
                             std::byte* target) const {
  if (stride == 1) return convert_(source, target, count);
  alignas(kLargestElement) std::array<std::byte, kGathered * kLargestElement> gathered;
  dispatch_bytes(source_bytes_, [&](auto zero) {
    using T = decltype(zero);
    if (!converts_) return gather<T>(source, stride, count, target);
    for (int64_t begin = 0; begin < count; begin += kGathered) {
      const int64_t part = std::min(kGathered, count - begin);
      gather<T>(source + begin * stride * static_cast<int64_t>(sizeof(T)), stride, part,
                gathered.data());
      convert_(gathered.data(), target + static_cast<size_t>(begin) * target_bytes_, part);
    }
  });
}

void ElementReader::read(int64_t begin, int64_t count, void* buffer) const {
  const std::byte* source = data_;
  auto* target = static_cast<std::byte*>(buffer);
  if (walk_.rank == 0) return read_run(source, 0, count, target);
  const auto bytes = static_cast<int64_t>(source_bytes_);
  std::array<int64_t, kMaxRank> index;
  for (size_t dim = walk_.rank; dim-- > 0;) {
    index[dim] = begin % walk_.sizes[dim];
    begin /= walk_.sizes[dim];
    source += index[dim] * walk_.strides[dim] * bytes;
  }
  const size_t inner = walk_.rank - 1;
  while (true) {
    const int64_t run = std::min(count, walk_.sizes[inner] - index[inner]);
    read_run(source, walk_.strides[inner], run, target);
    target += static_cast<size_t>(run) * target_bytes_;
    count -= run;
    if (count == 0) return;
    source -= index[inner] * walk_.strides[inner] * bytes;
    index[inner] = 0;
    for (size_t dim = inner; dim-- > 0;) {  // carry into the outer dimensions
      if (++index[dim] < walk_.sizes[dim]) {
        source += walk_.strides[dim] * bytes;
        break;
      }
      source -= (walk_.sizes[dim] - 1) * walk_.strides[dim] * bytes;
      index[dim] = 0;
    }
  }
}

void* dense_data(const char* op, Tensor& out) {
  ETLAB_CHECK(is_dense(out), kInvalidArgument, op, ": the output ", describe(out),
              " must be dense in memory");
  return out.raw();
}

void round_values(ScalarType type, int64_t count, float* values) {
  round_all(type, count, values);
}
void round_values(ScalarType type, int64_t count, double* values) {
  round_all(type, count, values);
}

}  // namespace util

template <typename T>
const T* read_contiguous(Context& context, const Tensor& tensor) {
  const Walk walk(tensor);
  const Reader<T> reader(tensor, walk);
  if (tensor.numel() == 0) return tensor.data<T>();
  if (walk.is_linear() && tensor.type() == kScalarTypeOf<T> && !std::is_same_v<T, bool>) {
    return tensor.data<T>();
  }
  T* values = context.allocate<T>(tensor.numel());
  context.parallel_for(tensor.numel(), kGrain, [&](int64_t begin, int64_t end) {
    reader.read(begin, end - begin, values + begin);
  });
  return values;
}

template <typename T>
void write_contiguous(Context& context, const char* op, const T* values, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor source(kScalarTypeOf<T>, out.sizes(), {}, const_cast<T*>(values),
                      static_cast<size_t>(out.numel()) * sizeof(T));
  const Reader<T> reader(source, Walk(op, source, out));
  const Writer<T> writer(op, out);
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::array<T, kBlock> buffer;
    for (; begin < end; begin += kBlock) {
      const int64_t count = std::min(kBlock, end - begin);
      T* target = writer.target(begin, buffer.data());
      const T* block = reader.read(begin, count, target);
      if (block != target) std::copy_n(block, count, target);
      writer.finish(begin, count, target);
    }
  });
}

#define ETLAB_INSTANTIATE(T)                                                  \
  template const T* read_contiguous<T>(Context&, const Tensor&);              \
  template void write_contiguous<T>(Context&, const char*, const T*, Tensor&);
ETLAB_INSTANTIATE(uint8_t)
ETLAB_INSTANTIATE(int8_t)
ETLAB_INSTANTIATE(int16_t)
ETLAB_INSTANTIATE(int32_t)
ETLAB_INSTANTIATE(int64_t)
ETLAB_INSTANTIATE(Half)
ETLAB_INSTANTIATE(BFloat16)
ETLAB_INSTANTIATE(float)
ETLAB_INSTANTIATE(double)
ETLAB_INSTANTIATE(bool)
ETLAB_INSTANTIATE(uint16_t)
ETLAB_INSTANTIATE(uint32_t)
ETLAB_INSTANTIATE(uint64_t)
#undef ETLAB_INSTANTIATE

}  // namespace etlab
