#include <cstring>

#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/checked.h"

namespace etlab {
namespace {

// The same elements under other sizes: memory is shared unless the result is an output.
class View : public Operator {
 public:
  View(size_t in, size_t out, payload::Datatype type) : in_(in), out_(out), type_(type) {}

  void reshape(Span<Operand> values) override { values[out_].shape = values[in_].shape; }

  void run(const RunContext& run) override {
    const Operand& in = run.values[in_];
    const Operand& out = run.values[out_];
    const size_t bytes = bytes_of(type_, in.shape);
    if (in.data != out.data && bytes > 0) std::memcpy(out.data, in.data, bytes);
  }

  bool is_view() const override { return true; }

 protected:
  size_t in_;
  size_t out_;
  payload::Datatype type_;
};

class Reshape : public View {
 public:
  Reshape(size_t in, size_t out, payload::Datatype type, Span<const int64_t> sizes, size_t inferred)
      : View(in, out, type), sizes_(sizes), inferred_(inferred) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    Shape out = sizes_;
    if (inferred_ < out.rank()) {
      ETLAB_CHECK(out.numel() > 0 && in.numel() % out.numel() == 0, kInvalidArgument, "shape ",
                  describe(in), " cannot become ", describe(out), " with one size inferred");
      out = out.with(inferred_, in.numel() / out.numel());
    }
    ETLAB_CHECK(in.numel() == out.numel(), kInvalidArgument, "shape ", describe(in),
                " cannot become ", describe(out));
    values[out_].shape = out;
  }

 private:
  Shape sizes_;      // 1 where a size is inferred
  size_t inferred_;  // the dimension, or beyond the last
};

std::unique_ptr<Operator> make_reshape(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticReshape();
  const size_t in = builder.raw_input(node.input_id());
  const size_t out = builder.raw_output(node.output_id());
  check_same_type(builder, in, out);
  const auto* shape = node.new_shape();
  ETLAB_CHECK(shape != nullptr && shape->size() <= kMaxPayloadRank, kInvalidProgram,
              "the new shape is missing or has more than ", kMaxPayloadRank, " sizes");
  int64_t sizes[kMaxPayloadRank];
  size_t inferred = kMaxPayloadRank;
  for (uint32_t i = 0; i < shape->size(); ++i) {
    sizes[i] = shape->Get(i);
    if (sizes[i] != 0) continue;
    ETLAB_CHECK(inferred == kMaxPayloadRank, kInvalidProgram,
                "more than one size of the new shape is to be inferred");
    inferred = i;
    sizes[i] = 1;
  }
  return std::make_unique<Reshape>(in, out, builder.value(in).type,
                                   Span<const int64_t>(sizes, shape->size()), inferred);
}

std::unique_ptr<Operator> make_copy(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_Copy();
  const size_t in = builder.raw_input(node.input_id());
  const size_t out = builder.raw_output(node.output_id());
  check_same_type(builder, in, out);
  return std::make_unique<View>(in, out, builder.value(in).type);
}

}  // namespace
ETLAB_XNNPACK_NODE(StaticReshape, make_reshape);
ETLAB_XNNPACK_NODE(Copy, make_copy);
}  // namespace etlab
