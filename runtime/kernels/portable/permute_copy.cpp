#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "permute_copy";

void permute_copy_out(Context& context, const Tensor& self, Span<const int64_t> dims, Tensor& out) {
  check_same_type(kName, self, out);
  ETLAB_CHECK(static_cast<int64_t>(dims.size()) == self.dim(), kInvalidArgument, kName, ": ",
              describe(dims), " does not order the dimensions of ", describe(self));
  StridedView source;
  source.data = self.data<std::byte>();
  source.element_bytes = element_size(self.type());
  uint32_t seen = 0;
  for (const int64_t given : dims) {
    const size_t dim = wrap_dim(kName, given, self.dim());
    ETLAB_CHECK((seen & (1u << dim)) == 0, kInvalidArgument, kName, ": dimension ", given,
                " is named twice in ", describe(dims));
    seen |= 1u << dim;
    source.insert(source.rank, self.size(static_cast<int64_t>(dim)),
                  self.stride(static_cast<int64_t>(dim)));
  }
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::permute_copy.out", permute_copy_out);
}  // namespace etlab
