#include "runtime/core/tensor.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/core/error.h"

namespace etlab {

Tensor::Tensor(ScalarType type, Span<const int64_t> sizes, Span<const uint8_t> dim_order,
               void* data, size_t capacity, ShapeDynamism dynamism)
    : type_(type), dynamism_(dynamism), data_(data), capacity_(capacity) {
  ETLAB_CHECK(is_known(type), kInvalidArgument, "tensor: dtype number ", static_cast<int>(type),
              " is not supported");
  ETLAB_CHECK(sizes.size() <= kMaxRank, kInvalidArgument, "tensor: rank ", sizes.size(),
              " is over the limit of ", kMaxRank);
  rank_ = static_cast<uint8_t>(sizes.size());
  if (dim_order.empty()) {
    std::iota(dim_order_.begin(), dim_order_.begin() + rank_, uint8_t{0});
  } else {
    ETLAB_CHECK(dim_order.size() == rank_, kInvalidArgument, "tensor: dim order has ",
                dim_order.size(), " entries for rank ", sizes.size());
    uint32_t seen = 0;
    for (size_t i = 0; i < rank_; ++i) {
      ETLAB_CHECK(dim_order[i] < rank_ && (seen & (1u << dim_order[i])) == 0, kInvalidArgument,
                  "tensor: dim order is not a permutation of 0..", static_cast<int>(rank_) - 1);
      seen |= 1u << dim_order[i];
      dim_order_[i] = dim_order[i];
    }
  }
  set_sizes(sizes);
  set_strides_from_dim_order();
}

Tensor Tensor::strided(ScalarType type, Span<const int64_t> sizes, Span<const int64_t> strides,
                       void* data) {
  ETLAB_CHECK(sizes.size() == strides.size(), kInvalidArgument, "tensor: ", sizes.size(),
              " sizes but ", strides.size(), " strides");
  Tensor tensor(type, sizes, {}, data, std::numeric_limits<size_t>::max());
  std::copy(strides.begin(), strides.end(), tensor.strides_.begin());
  // Outermost first; ties (sizes of 1, broadcast) keep the order of dimensions.
  for (size_t i = 1; i < tensor.rank_; ++i) {
    for (size_t k = i; k > 0; --k) {
      uint8_t& outer = tensor.dim_order_[k - 1];
      uint8_t& inner = tensor.dim_order_[k];
      if (strides[outer] >= strides[inner]) break;
      std::swap(outer, inner);
    }
  }
  tensor.capacity_ = tensor.nbytes();
  return tensor;
}

void Tensor::set_sizes(Span<const int64_t> sizes) {
  int64_t numel = 1;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ETLAB_CHECK(sizes[i] >= 0, kInvalidArgument, "tensor: size ", sizes[i], " of dimension ", i,
                " is negative");
    if (sizes[i] == 0) is_empty = true;
    const bool overflows = sizes[i] != 0 && numel > std::numeric_limits<int64_t>::max() / 8 / sizes[i];
    ETLAB_CHECK(!overflows, kInvalidArgument, "tensor: sizes ", describe(sizes),
                " hold more elements than memory can");
    if (sizes[i] != 0) numel *= sizes[i];
    sizes_[i] = sizes[i];
  }
  numel_ = is_empty ? 0 : numel;
}

void Tensor::set_strides_from_dim_order() {
  int64_t stride = 1;
  for (size_t i = rank_; i-- > 0;) {
    const uint8_t dim = dim_order_[i];
    strides_[dim] = stride;
    stride *= std::max<int64_t>(sizes_[dim], 1);
  }
}

bool Tensor::is_contiguous() const {
  if (numel_ == 0) return true;
  int64_t expected = 1;
  for (size_t i = rank_; i-- > 0;) {
    if (sizes_[i] == 1) continue;
    if (strides_[i] != expected) return false;
    expected *= sizes_[i];
  }
  return true;
}

bool Tensor::has_same_layout(const Tensor& other) const {
  if (!equal(sizes(), other.sizes())) return false;
  for (size_t i = 0; i < rank_; ++i) {
    if (sizes_[i] != 1 && strides_[i] != other.strides_[i]) return false;
  }
  return true;
}

void Tensor::resize(Span<const int64_t> sizes) {
  ETLAB_CHECK(!is_read_only_, kInvalidArgument, "tensor ", describe(*this),
              " is a constant or an input of the caller and cannot be written");
  if (equal(sizes, this->sizes())) {
    ETLAB_CHECK(has_memory() && nbytes() <= capacity_, kInvalidArgument, "tensor ",
                describe(*this), " has memory for ", data_ == nullptr ? 0 : capacity_, " bytes");
    return;
  }
  ETLAB_CHECK(sizes.size() == rank_, kInvalidArgument, "tensor ", describe(*this),
              " cannot be resized to rank ", sizes.size());
  ETLAB_CHECK(dynamism_ != ShapeDynamism::kStatic, kInvalidArgument, "tensor ", describe(*this),
              " has a static shape, the operator computes ", describe(sizes));
  Tensor resized(type_, sizes, dim_order(), data_, capacity_, dynamism_);
  ETLAB_CHECK(resized.nbytes() <= capacity_, kInvalidArgument, "tensor of ", name_of(type_),
              " cannot grow to ", describe(sizes), ": its memory holds ", capacity_,
              " bytes, the upper bound given at export");
  *this = resized;
}

std::string describe(Span<const int64_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) text += ", ";
    text += concat(sizes[i]);
  }
  return text + "]";
}

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.type())) + describe(tensor.sizes());
}

}  // namespace etlab
