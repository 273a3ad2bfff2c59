#include "runtime/kernels/util/walk.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {

namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kGrain = 32768;

// A bool from a file may be any byte; as a C++ bool only 0 and 1 are legal.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename From, typename To>
void copy_run(const Stored<From>* source, int64_t stride, int64_t count, To* target) {
  const auto convert = [](Stored<From> value) {
    if constexpr (std::is_same_v<From, bool>) {
      return cast<To>(value != 0);
    } else {
      return cast<To>(value);
    }
  };
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = convert(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = convert(source[i * stride]);
  }
}

template <typename From, typename To>
void gather(const Walk& walk, const void* data, int64_t begin, int64_t count, To* target) {
  const auto* source = static_cast<const Stored<From>*>(data);
  if (walk.rank == 0) return copy_run<From, To>(source, 0, count, target);
  std::array<int64_t, kMaxRank> index;
  for (size_t dim = walk.rank; dim-- > 0;) {
    index[dim] = begin % walk.sizes[dim];
    begin /= walk.sizes[dim];
    source += index[dim] * walk.strides[dim];
  }
  const size_t inner = walk.rank - 1;
  while (true) {
    const int64_t run = std::min(count, walk.sizes[inner] - index[inner]);
    copy_run<From, To>(source, walk.strides[inner], run, target);
    target += run;
    count -= run;
    if (count == 0) return;
    source -= index[inner] * walk.strides[inner];
    index[inner] = 0;
    for (size_t dim = inner; dim-- > 0;) {  // carry into the outer dimensions
      if (++index[dim] < walk.sizes[dim]) {
        source += walk.strides[dim];
        break;
      }
      source -= (walk.sizes[dim] - 1) * walk.strides[dim];
      index[dim] = 0;
    }
  }
}

template <typename From, typename To>
void scatter(void* data, int64_t begin, int64_t count, const From* source) {
  To* target = static_cast<To*>(data) + begin;
  for (int64_t i = 0; i < count; ++i) target[i] = cast<To>(source[i]);
}

bool is_reduced_float(ScalarType type) {
  return type == ScalarType::kHalf || type == ScalarType::kBFloat16;
}

template <typename T>
void round_values(ScalarType type, int64_t count, T* values) {
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

template <typename T>
Reader<T>::Reader(const Tensor& input, const Walk& walk, ScalarType rounded_to)
    : walk_(walk),
      data_(input.raw()),
      rounded_to_(rounded_to),
      rounds_(is_reduced_float(rounded_to) && input.type() != rounded_to),
      is_direct_(walk.rank == 1 && walk.is_linear() && input.type() == kScalarTypeOf<T> &&
                 !rounds_ && !std::is_same_v<T, bool>) {
  dispatch<StoredTypes>(input.type(), "reading a tensor",
                        [&](auto tag) { gather_ = &gather<TypeOf<decltype(tag)>, T>; });
}

template <typename T>
void Reader<T>::round(int64_t count, T* buffer) const {
  round_values(rounded_to_, count, buffer);
}

template <typename T>
Writer<T>::Writer(const char* op, Tensor& out, ScalarType rounded_to)
    : data_(out.raw()),
      rounded_to_(rounded_to),
      rounds_(is_reduced_float(rounded_to) && out.type() != rounded_to),
      is_direct_(out.type() == kScalarTypeOf<T> && !rounds_) {
  ETLAB_CHECK(is_dense(out), kInvalidArgument, op, ": the output ", describe(out),
              " must be dense in memory");
  dispatch<StoredTypes>(out.type(), op,
                        [&](auto tag) { scatter_ = &scatter<T, TypeOf<decltype(tag)>>; });
}

template <typename T>
void Writer<T>::round(int64_t count, T* buffer) const {
  round_values(rounded_to_, count, buffer);
}

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
  template class Reader<T>;                                                   \
  template class Writer<T>;                                                   \
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
