#include "runtime/kernels/util/converted_copy.h"

#include "runtime/kernels/util/element_type.h"

namespace etlab {
namespace {

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Through int64: what eager's conversion does on x86 for values the narrow type cannot hold.
    const bool fits = value > static_cast<From>(-9.2e18) && value < static_cast<From>(9.2e18);
    return fits ? static_cast<To>(static_cast<int64_t>(value)) : To{0};
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
void copy_rows(Context& context, const StridedWalk<2>& walk, To* destination, const From* source) {
  const auto [to_stride, from_stride] = walk.row_strides();
  const int64_t length = walk.row_length();
  const int64_t grain = std::max<int64_t>(1, 8192 / length);
  context.parallel_for(
      walk.row_count(), grain,
      [&, to_stride = to_stride, from_stride = from_stride](int64_t begin, int64_t end) {
        walk.for_each_row(begin, end, [&](const std::array<int64_t, 2>& offsets) {
          for (int64_t i = 0; i < length; ++i) {
            destination[offsets[0] + i * to_stride] =
                convert<To>(source[offsets[1] + i * from_stride]);
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
  visit_element_type(type, [&](auto to) {
    visit_element_type(source.type(), [&](auto element) {
      using To = decltype(to);
      using From = decltype(element);
      copy_rows(context, walk, reinterpret_cast<To*>(destination.data), source.data<From>());
    });
  });
}

}  // namespace etlab
