#include "runtime/kernels/util/converted_copy.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/kernels/util/convert.h"

namespace etlab {
namespace {

constexpr int64_t kBlock = 256;         // elements of a row brought together at a time
constexpr size_t kLargestElement = 16;  // bytes
constexpr int64_t kGrain = 8192;        // elements worth a second thread

template <typename T>
void move_elements(std::byte* destination, int64_t destination_stride, const std::byte* source,
                   int64_t source_stride, int64_t count) {
  auto* to = reinterpret_cast<T*>(destination);
  const auto* from = reinterpret_cast<const T*>(source);
  for (int64_t i = 0; i < count; ++i) to[i * destination_stride] = from[i * source_stride];
}

void move_elements(size_t element_bytes, std::byte* destination, int64_t destination_stride,
                   const std::byte* source, int64_t source_stride, int64_t count) {
  dispatch_bytes(element_bytes, [&](auto zero) {
    move_elements<decltype(zero)>(destination, destination_stride, source, source_stride, count);
  });
}

// One row whose elements change their dtype, strides in elements: gathered, converted, scattered,
// each step only where it is needed.
class RowConverter {
 public:
  RowConverter(ConvertRun convert, size_t to_bytes, int64_t to_stride, size_t from_bytes,
               int64_t from_stride)
      : convert_(convert),
        to_bytes_(to_bytes),
        to_stride_(to_stride),
        from_bytes_(from_bytes),
        from_stride_(from_stride) {}

  void operator()(std::byte* to, const std::byte* from, int64_t length) const {
    if (to_stride_ == 1 && from_stride_ == 1) return convert_(from, to, length);
    alignas(kLargestElement) std::array<std::byte, kBlock * kLargestElement> gathered;
    alignas(kLargestElement) std::array<std::byte, kBlock * kLargestElement> converted;
    for (int64_t begin = 0; begin < length; begin += kBlock) {
      const int64_t count = std::min(kBlock, length - begin);
      const std::byte* source = from + begin * from_stride_ * static_cast<int64_t>(from_bytes_);
      std::byte* target = to + begin * to_stride_ * static_cast<int64_t>(to_bytes_);
      if (from_stride_ != 1) {
        move_elements(from_bytes_, gathered.data(), 1, source, from_stride_, count);
        source = gathered.data();
      }
      if (to_stride_ == 1) {
        convert_(source, target, count);
      } else {
        convert_(source, converted.data(), count);
        move_elements(to_bytes_, target, to_stride_, converted.data(), 1, count);
      }
    }
  }

 private:
  ConvertRun convert_;
  size_t to_bytes_;
  int64_t to_stride_;
  size_t from_bytes_;
  int64_t from_stride_;
};

}  // namespace

void copy_converted(Context& context, const Tensor& source, const StridedView& destination,
                    ScalarType type) {
  copy_converted(context, StridedView(source), source.type(), destination, type);
}

void copy_converted(Context& context, const StridedView& source, ScalarType source_type,
                    const StridedView& destination, ScalarType type) {
  if (source_type == type) return copy_view(context, source, destination);
  StridedWalk<2> walk;
  for (size_t dim = 0; dim < source.rank; ++dim) {
    walk.append(source.sizes[dim], {destination.strides[dim], source.strides[dim]});
  }
  if (walk.is_empty()) return;
  walk.sort();
  walk.coalesce();
  const auto to_bytes = static_cast<int64_t>(destination.element_bytes);
  const auto from_bytes = static_cast<int64_t>(source.element_bytes);
  const int64_t length = walk.row_length();
  const auto strides = walk.row_strides();
  const RowConverter convert(find_conversion("copy", source_type, type),
                             destination.element_bytes, strides[0], source.element_bytes,
                             strides[1]);
  if (walk.rank == 1) {
    context.parallel_for(length, kGrain, [&](int64_t begin, int64_t end) {
      convert(destination.data + begin * strides[0] * to_bytes,
              source.data + begin * strides[1] * from_bytes, end - begin);
    });
    return;
  }
  context.parallel_for(
      walk.row_count(), std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
        walk.for_each_row(begin, end, [&](const std::array<int64_t, 2>& offsets) {
          convert(destination.data + offsets[0] * to_bytes, source.data + offsets[1] * from_bytes,
                  length);
        });
      });
}

void copy_to(Context& context, const char* op, const Tensor& source, Tensor& out) {
  StridedView view(source);
  const int64_t missing = out.dim() - source.dim();
  ETLAB_CHECK(missing >= 0, kInvalidArgument, op, ": sizes ", describe(source.sizes()),
              " do not broadcast to ", describe(out.sizes()));
  for (int64_t i = 0; i < missing; ++i) view.insert(0, 1, 0);
  for (size_t dim = 0; dim < view.rank; ++dim) {
    const int64_t size = out.sizes()[dim];
    ETLAB_CHECK(view.sizes[dim] == size || view.sizes[dim] == 1, kInvalidArgument, op, ": sizes ",
                describe(source.sizes()), " do not broadcast to ", describe(out.sizes()));
    if (view.sizes[dim] != size) view.strides[dim] = 0;
    view.sizes[dim] = size;
  }
  copy_converted(context, view, source.type(), StridedView(out), out.type());
}

}  // namespace etlab
