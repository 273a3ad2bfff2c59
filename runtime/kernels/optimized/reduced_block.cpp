#include "runtime/kernels/optimized/reduced_block.h"

namespace etlab {

namespace {

// A bit a reduced dimension; false when one is out of range or named twice.
bool mask_of(const Tensor& self, Span<const int64_t> dims, uint32_t& mask) {
  mask = 0;
  if (dims.empty()) {
    mask = (1u << self.dim()) - 1u;
    return true;
  }
  for (const int64_t dim : dims) {
    if (dim < -self.dim() || dim >= self.dim()) return false;
    const uint32_t bit = 1u << (dim < 0 ? dim + self.dim() : dim);
    if ((mask & bit) != 0) return false;
    mask |= bit;
  }
  return true;
}

}  // namespace

bool find_reduced_block(const Tensor& self, Span<const int64_t> dims, ReducedBlock& block) {
  uint32_t mask = 0;
  if (self.dim() == 0 || !mask_of(self, dims, mask)) return false;
  block = {};
  bool has_begun = false;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const bool is_reduced = (mask >> i & 1u) != 0;
    if (is_reduced && block.inner != 1) return false;  // a second group
    if (is_reduced) {
      has_begun = true;
      block.count *= self.size(i);
    } else if (has_begun) {
      block.inner *= self.size(i);
    } else {
      block.outer *= self.size(i);
    }
  }
  return true;
}

std::vector<int64_t> sizes_after(const Tensor& self, Span<const int64_t> dims, bool keepdim) {
  uint32_t mask = 0;
  mask_of(self, dims, mask);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if ((mask >> i & 1u) == 0) {
      sizes.push_back(self.size(i));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

}  // namespace etlab
