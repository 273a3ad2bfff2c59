#include "runtime/core/kernel.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

// What a program asks of a tensor while it runs.

int64_t sym_size(Context&, const Tensor& self, int64_t dim) {
  const char* op = "aten::sym_size.int";
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, op, ": a 0-d tensor has no dimension ", dim);
  return self.size(normalize_dim(op, dim, self.dim()));
}

int64_t sym_numel(Context&, const Tensor& self) { return self.numel(); }

// The only element of a tensor as a number.
Scalar local_scalar_dense(Context&, const Tensor& self) {
  const char* op = "aten::_local_scalar_dense";
  ETLAB_CHECK(self.numel() == 1, kInvalidArgument, op, ": expected one element, got ",
              describe(self));
  ETLAB_CHECK(!is_complex(self.type()), kNotSupported, op,
              ": a program has no complex numbers, only tensors of them; got ", describe(self));
  const Walk walk(self);
  if (is_floating(self.type())) {
    double value;
    return *Reader<double>(self, walk).read(0, 1, &value);
  }
  if (self.type() == ScalarType::kBool) {
    bool value;
    return *Reader<bool>(self, walk).read(0, 1, &value);
  }
  int64_t value;
  return *Reader<int64_t>(self, walk).read(0, 1, &value);
}

}  // namespace
ETLAB_KERNEL("aten::sym_size.int", sym_size);
ETLAB_KERNEL("aten::sym_numel", sym_numel);
ETLAB_KERNEL("aten::_local_scalar_dense", local_scalar_dense);
}  // namespace etlab
