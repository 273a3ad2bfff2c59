#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/xnnpack/runtime/operators/box_copy.h"
#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

using Sizes = flatbuffers::Vector<uint32_t>;

class Slice : public Operator {
 public:
  Slice(size_t in, size_t out, size_t element_size, std::vector<int64_t> offsets,
        std::vector<int64_t> sizes)
      : in_(in), out_(out), element_size_(element_size), offsets_(std::move(offsets)),
        sizes_(std::move(sizes)) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() == offsets_.size(), kInvalidArgument, "an operand of shape ",
                describe(in), " for a slice of ", offsets_.size(), " dimensions");
    const auto strides = strides_of(in);
    int64_t sizes[kMaxPayloadRank];
    start_ = 0;
    for (size_t i = 0; i < in.rank(); ++i) {
      // A size of 0 is all that is left; what lies beyond the end is left out.
      const int64_t offset = std::min(offsets_[i], in[i]);
      sizes[i] = sizes_[i] == 0 ? in[i] - offset : std::min(sizes_[i], in[i] - offset);
      start_ += offset * strides[i];
    }
    const Shape out({sizes, in.rank()});
    const auto target = strides_of(out);
    copy_ = BoxCopy(element_size_, out.sizes(), {strides.data(), in.rank()},
                    {target.data(), in.rank()});
    values[out_].shape = out;
  }

  void run(const RunContext& run) override {
    copy_.run(run.context,
              run.values[in_].data + start_ * static_cast<int64_t>(element_size_),
              run.values[out_].data);
  }

 private:
  size_t in_;
  size_t out_;
  size_t element_size_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> sizes_;
  int64_t start_ = 0;
  BoxCopy copy_;
};

class Pad : public Operator {
 public:
  Pad(size_t in, size_t out, size_t element_size, std::vector<int64_t> before,
      std::vector<int64_t> after, uint32_t pattern)
      : in_(in),
        out_(out),
        element_size_(element_size),
        border_{std::move(before), std::move(after), pattern} {}

  const Border* border() const override { return &border_; }

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() == border_.before.size(), kInvalidArgument, "an operand of shape ",
                describe(in), " for a border of ", border_.before.size(), " dimensions");
    int64_t sizes[kMaxPayloadRank];
    for (size_t i = 0; i < in.rank(); ++i) sizes[i] = border_.before[i] + in[i] + border_.after[i];
    const Shape out({sizes, in.rank()});
    const auto source = strides_of(in);
    const auto target = strides_of(out);
    start_ = 0;
    for (size_t i = 0; i < in.rank(); ++i) start_ += border_.before[i] * target[i];
    copy_ = BoxCopy(element_size_, in.sizes(), {source.data(), in.rank()},
                    {target.data(), in.rank()});
    values[out_].shape = out;
  }

  void run(const RunContext& run) override {
    uint8_t* out = run.values[out_].data;
    const int64_t count = run.values[out_].shape.numel();
    parallel_near(run.context, count, 1 << 16, [&](int64_t begin, int64_t end) {
      if (element_size_ == 4) {
        auto* numbers = reinterpret_cast<uint32_t*>(out);
        std::fill(numbers + begin, numbers + end, border_.pattern);
      } else {
        std::memset(out + begin, static_cast<int>(border_.pattern & 0xFF),
                    static_cast<size_t>(end - begin));
      }
    });
    copy_.run(run.context, run.values[in_].data,
              out + start_ * static_cast<int64_t>(element_size_));
  }

 private:
  size_t in_;
  size_t out_;
  size_t element_size_;
  Border border_;
  int64_t start_ = 0;
  BoxCopy copy_;
};

std::vector<int64_t> numbers(const Sizes* source, const char* what) {
  ETLAB_CHECK(source != nullptr && source->size() <= kMaxPayloadRank, kInvalidProgram, what,
              " are missing or more than ", kMaxPayloadRank);
  return {source->begin(), source->end()};
}

std::unique_ptr<Operator> make_slice(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticSlice();
  const size_t in = builder.raw_input(node.input_id());
  const size_t out = builder.raw_output(node.output_id());
  check_same_type(builder, in, out);
  std::vector<int64_t> offsets = numbers(node.offsets(), "the offsets");
  std::vector<int64_t> sizes = numbers(node.sizes(), "the sizes");
  ETLAB_CHECK(offsets.size() == sizes.size(), kInvalidProgram, offsets.size(), " offsets and ",
              sizes.size(), " sizes");
  return std::make_unique<Slice>(in, out, element_bytes(builder.value(in).type),
                                 std::move(offsets), std::move(sizes));
}

// The border's value as it stands in memory.
uint32_t pattern_of(const GraphValue& value, float number) {
  if (value.type == payload::Datatype::FP32) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    return bits;
  }
  ETLAB_CHECK(value.type == payload::Datatype::QINT8 || value.type == payload::Datatype::QUINT8,
              kNotSupported, "values of ", name_of(value.type));
  const bool is_signed = value.type == payload::Datatype::QINT8;
  const float low = is_signed ? -128.0f : 0.0f;
  const float quantized =
      std::nearbyint(number / value.quantization.scale) +
      static_cast<float>(value.quantization.zero_point);
  const float limited = std::min(std::max(quantized, low), low + 255.0f);
  return static_cast<uint32_t>(static_cast<int32_t>(limited == limited ? limited : 0.0f)) & 0xFF;
}

std::unique_ptr<Operator> make_pad(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticConstantPad();
  const GraphValue& given = builder.value(builder.graph().index_of(node.input_id()));
  const bool is_quantized = given.type == payload::Datatype::QINT8 ||
                            given.type == payload::Datatype::QUINT8;
  const size_t in = is_quantized ? builder.raw_input(node.input_id()) : builder.input(node.input_id());
  const size_t out =
      is_quantized ? builder.raw_output(node.output_id()) : builder.output(node.output_id());
  check_same_type(builder, in, out);
  std::vector<int64_t> before = numbers(node.pre_paddings(), "the paddings");
  std::vector<int64_t> after = numbers(node.post_paddings(), "the paddings");
  ETLAB_CHECK(before.size() == after.size(), kInvalidProgram, before.size(), " and ",
              after.size(), " paddings");
  const GraphValue& value = builder.value(in);
  return std::make_unique<Pad>(in, out, element_bytes(value.type), std::move(before),
                               std::move(after), pattern_of(value, node.padding_value()));
}

}  // namespace
ETLAB_XNNPACK_NODE(StaticSlice, make_slice);
ETLAB_XNNPACK_NODE(StaticConstantPad, make_pad);
}  // namespace etlab
