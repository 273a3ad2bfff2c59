#include "runtime/kernels/util/reduce.h"

#include "runtime/core/checked.h"
#include "runtime/kernels/util/converted_copy.h"

namespace etlab::util {

DimMask all_dims(int64_t rank) { return (DimMask{1} << rank) - 1; }

DimMask dim_mask(const char* who, Span<const int64_t> dims, int64_t rank) {
  DimMask mask = 0;
  for (const int64_t dim : dims) {
    const DimMask bit = DimMask{1} << normalize_dim(who, dim, rank);
    ETLAB_CHECK((mask & bit) == 0, kInvalidArgument, who, ": dimension ", dim,
                " appears twice in ", describe(dims));
    mask |= bit;
  }
  return mask & all_dims(rank);
}

DimMask dim_mask_or_all(const char* who, std::optional<Span<const int64_t>> dims, int64_t rank) {
  if (!dims.has_value() || dims->empty()) return all_dims(rank);
  return dim_mask(who, *dims, rank);
}

IndexBox::IndexBox(const Tensor& tensor, DimMask dims) {
  for (size_t dim = 0; dim < static_cast<size_t>(tensor.dim()); ++dim) {
    if ((dims >> dim & 1u) == 0) continue;
    const int64_t size = tensor.sizes()[dim];
    const int64_t stride = tensor.strides()[dim];
    count_ = size == 0 ? 0 : count_ * size;
    if (size == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == stride * size) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
    } else {
      sizes_[rank_] = size;
      strides_[rank_++] = stride;
    }
  }
}

Sizes reduced_sizes(const Tensor& self, DimMask dims, bool keepdim) {
  Sizes sizes;
  for (size_t dim = 0; dim < static_cast<size_t>(self.dim()); ++dim) {
    const bool is_reduced = (dims >> dim & 1u) != 0;
    if (is_reduced && !keepdim) continue;
    sizes.push_back(is_reduced ? 1 : self.sizes()[dim]);
  }
  return sizes;
}

void check_distinct(const char* who, const Tensor& input, const Tensor& out) {
  ETLAB_CHECK(&input != &out, kInvalidArgument, who, ": the output may not be an input, ",
              describe(input));
}

void check_reduces_something(const char* who, const Tensor& self, DimMask dims) {
  for (size_t dim = 0; dim < static_cast<size_t>(self.dim()); ++dim) {
    const bool is_reduced = (dims >> dim & 1u) != 0;
    ETLAB_CHECK(!is_reduced || self.sizes()[dim] != 0,
                kInvalidArgument, who, ": dimension ", dim, " of ", describe(self),
                " is empty: there is no element to choose");
  }
}

Tensor converted(Context& context, const Tensor& tensor, ScalarType type) {
  if (tensor.type() == type) return tensor;
  const size_t bytes = checked_multiply(static_cast<size_t>(tensor.numel()), element_size(type),
                                        "converted tensor");
  Tensor result(type, tensor.sizes(), {}, context.allocate(bytes), bytes);
  copy_converted(context, tensor, StridedView(result), type);
  return result;
}

}  // namespace etlab::util
