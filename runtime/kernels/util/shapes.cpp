#include "runtime/kernels/util/shapes.h"

#include <algorithm>

namespace etlab {

Sizes broadcast_sizes(const char* op, Span<const int64_t> a, Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Sizes result = Sizes::filled(rank, 1);
  for (size_t i = 1; i <= rank; ++i) {  // from the last dimension
    const int64_t left = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t right = i <= b.size() ? b[b.size() - i] : 1;
    ETLAB_CHECK(left == right || left == 1 || right == 1, kInvalidArgument, op, ": sizes ",
                describe(a), " and ", describe(b), " do not broadcast: dimension ", rank - i,
                " is ", left, " and ", right);
    result[rank - i] = left == 1 ? right : left;
  }
  return result;
}

int64_t normalize_dim(const char* op, int64_t dim, int64_t rank) {
  const int64_t count = std::max<int64_t>(rank, 1);
  ETLAB_CHECK(dim >= -count && dim < count, kInvalidArgument, op, ": dimension ", dim,
              " is out of range for rank ", rank, ", expected ", -count, " to ", count - 1);
  return dim < 0 ? dim + count : dim;
}

std::array<bool, kMaxRank> normalize_dims(const char* op, Span<const int64_t> dims, int64_t rank) {
  std::array<bool, kMaxRank> is_named{};
  if (dims.empty()) {
    is_named.fill(true);
    return is_named;
  }
  for (const int64_t dim : dims) {
    const auto index = static_cast<size_t>(normalize_dim(op, dim, rank));
    ETLAB_CHECK(!is_named[index], kInvalidArgument, op, ": dimension ", dim,
                " is named twice in the list ", describe(dims));
    is_named[index] = true;
  }
  return is_named;
}

void check_rank(const char* op, const char* what, const Tensor& tensor, int64_t rank) {
  ETLAB_CHECK(tensor.dim() == rank, kInvalidArgument, op, ": ", what, " must have rank ", rank,
              ", got ", describe(tensor));
}

void check_type(const char* op, const char* what, const Tensor& tensor, ScalarType type) {
  ETLAB_CHECK(tensor.type() == type, kInvalidArgument, op, ": ", what, " must be ", name_of(type),
              ", got ", describe(tensor));
}

void check_same_type(const char* op, const Tensor& a, const Tensor& b) {
  ETLAB_CHECK(a.type() == b.type(), kInvalidArgument, op, ": expected tensors of one dtype, got ",
              describe(a), " and ", describe(b));
}

void check_sizes(const char* op, const char* what, const Tensor& tensor,
                 Span<const int64_t> sizes) {
  ETLAB_CHECK(equal(tensor.sizes(), sizes), kInvalidArgument, op, ": ", what, " must have sizes ",
              describe(sizes), ", got ", describe(tensor));
}

void check_dim_order(const char* op, const std::optional<Span<const int64_t>>& dim_order,
                     const Tensor& out) {
  if (!dim_order.has_value()) return;
  bool is_same = dim_order->size() == out.sizes().size();
  int64_t expected = 1;
  for (size_t i = dim_order->size(); is_same && i-- > 0;) {
    const int64_t dim = (*dim_order)[i];
    is_same = dim >= 0 && dim < out.dim() && (out.size(dim) == 1 || out.stride(dim) == expected);
    if (is_same) expected *= std::max<int64_t>(out.size(dim), 1);
  }
  ETLAB_CHECK(is_same, kInvalidArgument, op, ": the output ", describe(out),
              " does not lie in memory in the dim order ", describe(*dim_order));
}

bool is_dense(const Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  int64_t expected = 1;
  for (size_t i = static_cast<size_t>(tensor.dim()); i-- > 0;) {
    const size_t dim = tensor.dim_order()[i];
    if (tensor.sizes()[dim] == 1) continue;
    if (tensor.strides()[dim] != expected) return false;
    expected *= tensor.sizes()[dim];
  }
  return true;
}

int64_t count_elements(Span<const int64_t> sizes, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= sizes[i];
  return count;
}

}  // namespace etlab
