#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab::util {

// An element of a lane and where it stood there.
template <typename T>
struct Ranked {
  T value;
  int64_t index;
};

// Lanes of `self` along one dimension, each copied, ordered and handed to `write`:
//   order(Ranked<T>* begin, Ranked<T>* end)
//   write(lane, const Ranked<T>* ordered)
template <typename T, typename Order, typename Write>
void for_each_ordered_lane(Context& context, const Tensor& self, DimMask dims, const Order& order,
                           const Write& write) {
  const Reduction lanes(self, dims);
  const int64_t length = lanes.reduced.count();
  if (lanes.kept.count() == 0 || length == 0) return;
  auto* scratch = context.allocate<Ranked<T>>(length);
  for (int64_t lane = 0; lane < lanes.kept.count(); ++lane) {
    context.count_steps(length);
    const T* first = self.data<T>() + lanes.kept.offset(lane);
    int64_t i = 0;
    ReducedValues<T>(first, lanes.reduced).for_each([&](T value) {
      scratch[i] = {value, i};
      ++i;
    });
    order(scratch, scratch + length);
    write(lane, scratch);
  }
}

// Descending or ascending, equal elements in their first order: a total order, so that every way
// of sorting gives the same result. NaN counts as the largest number.
template <bool kDescending, typename T>
bool is_before(const Ranked<T>& a, const Ranked<T>& b) {
  if (comes_before<kDescending>(a.value, b.value)) return true;
  if (comes_before<kDescending>(b.value, a.value)) return false;
  return a.index < b.index;
}

// Writes lanes of values and of their indices into two outputs of equal sizes.
template <typename T>
class RankedWriter {
 public:
  RankedWriter(Tensor& values, Tensor& indices, DimMask dims)
      : value_lanes_(values, dims),
        index_lanes_(indices, dims),
        values_(values.data<T>()),
        indices_(indices.data<int64_t>()) {}
  int64_t length() const { return value_lanes_.reduced.count(); }
  void write(int64_t lane, const Ranked<T>* ordered) const {
    T* values = values_ + value_lanes_.kept.offset(lane);
    int64_t* indices = indices_ + index_lanes_.kept.offset(lane);
    for (int64_t i = 0; i < length(); ++i) {
      values[value_lanes_.reduced.offset(i)] = ordered[i].value;
      indices[index_lanes_.reduced.offset(i)] = ordered[i].index;
    }
  }

 private:
  Reduction value_lanes_;
  Reduction index_lanes_;
  T* values_;
  int64_t* indices_;
};

inline void check_ranked_outputs(const char* who, const Tensor& self, const Tensor& values,
                                 const Tensor& indices) {
  check_distinct(who, self, values);
  check_distinct(who, self, indices);
  check_distinct(who, values, indices);
  check_type(who, "values", values, self.type());
  check_type(who, "indices", indices, ScalarType::kLong);
}

}  // namespace etlab::util
