#include "runtime/kernels/util/converted_copy.h"

#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {
namespace {

// A bool from a file may be any byte; as a C++ bool only 0 and 1 are legal.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename To, typename From>
void copy_rows(Context& context, const StridedWalk<2>& walk, Stored<To>* destination,
               const Stored<From>* source) {
  const auto strides = walk.row_strides();
  const int64_t to_stride = strides[0];
  const int64_t from_stride = strides[1];
  const auto convert = [](Stored<From> value) {
    if constexpr (std::is_same_v<From, bool>) {
      return cast<To>(value != 0);
    } else {
      return cast<To>(value);
    }
  };
  const int64_t length = walk.row_length();
  const int64_t grain = std::max<int64_t>(1, 8192 / length);
  context.parallel_for(
      walk.row_count(), grain,
      [&, to_stride = to_stride, from_stride = from_stride](int64_t begin, int64_t end) {
        walk.for_each_row(begin, end, [&](const std::array<int64_t, 2>& offsets) {
          for (int64_t i = 0; i < length; ++i) {
            destination[offsets[0] + i * to_stride] = convert(source[offsets[1] + i * from_stride]);
          }
        });
      });
}

}  // namespace

void copy_converted(Context& context, const Tensor& source, const StridedView& destination,
                    ScalarType type) {
  const StridedView from(source);
  if (source.type() == type) return copy_view(context, from, destination);
  StridedWalk<2> walk;
  for (size_t dim = 0; dim < from.rank; ++dim) {
    walk.append(from.sizes[dim], {destination.strides[dim], from.strides[dim]});
  }
  if (walk.is_empty()) return;
  walk.sort();
  walk.coalesce();
  dispatch<StoredTypes>(type, "copy", [&](auto to_tag) {
    using To = TypeOf<decltype(to_tag)>;
    dispatch<StoredTypes>(source.type(), "copy", [&](auto from_tag) {
      using From = TypeOf<decltype(from_tag)>;
      copy_rows<To, From>(context, walk, reinterpret_cast<Stored<To>*>(destination.data),
                          source.data<Stored<From>>());
    });
  });
}

}  // namespace etlab
