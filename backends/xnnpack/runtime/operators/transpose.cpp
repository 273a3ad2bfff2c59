#include "backends/xnnpack/runtime/operators/box_copy.h"
#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/error.h"

namespace etlab {
namespace {

class Transpose : public Operator {
 public:
  Transpose(size_t in, size_t out, size_t element_size, std::vector<size_t> permutation)
      : in_(in), out_(out), element_size_(element_size), permutation_(std::move(permutation)) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    const size_t rank = permutation_.size();
    ETLAB_CHECK(in.rank() == rank, kInvalidArgument, "an operand of shape ", describe(in),
                " for a permutation of ", rank, " dimensions");
    const auto in_strides = strides_of(in);
    int64_t sizes[kMaxPayloadRank];
    int64_t source[kMaxPayloadRank];
    for (size_t i = 0; i < rank; ++i) {
      sizes[i] = in[permutation_[i]];
      source[i] = in_strides[permutation_[i]];
    }
    const Shape out({sizes, rank});
    const auto target = strides_of(out);
    copy_ = BoxCopy(element_size_, {sizes, rank}, {source, rank}, {target.data(), rank});
    values[out_].shape = out;
  }

  void run(const RunContext& run) override {
    copy_.run(run.context, run.values[in_].data, run.values[out_].data);
  }

 private:
  size_t in_;
  size_t out_;
  size_t element_size_;
  std::vector<size_t> permutation_;
  BoxCopy copy_;
};

std::unique_ptr<Operator> make_transpose(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticTranspose();
  const size_t in = builder.raw_input(node.input_id());
  const size_t out = builder.raw_output(node.output_id());
  check_same_type(builder, in, out);
  const auto* given = node.perm();
  ETLAB_CHECK(given != nullptr && given->size() <= kMaxPayloadRank, kInvalidProgram,
              "the permutation is missing or has more than ", kMaxPayloadRank, " dimensions");
  std::vector<size_t> permutation;
  std::vector<bool> is_taken(given->size(), false);
  for (const uint32_t dim : *given) {
    ETLAB_CHECK(dim < given->size() && !is_taken[dim], kInvalidProgram, "dimension ", dim,
                " stands twice in the permutation, or is none");
    is_taken[dim] = true;
    permutation.push_back(dim);
  }
  return std::make_unique<Transpose>(in, out, element_bytes(builder.value(in).type),
                                     std::move(permutation));
}

}  // namespace
ETLAB_XNNPACK_NODE(StaticTranspose, make_transpose);
}  // namespace etlab
