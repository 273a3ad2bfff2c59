#include <algorithm>

#include "backends/xnnpack/runtime/operator.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

constexpr uint32_t kAlignCorners = 8;

// Two neighbours along one axis and how far the second counts.
struct Neighbours {
  int64_t first;
  int64_t second;
  float weight;
};

class ResizeBilinear : public Operator {
 public:
  ResizeBilinear(size_t in, size_t out, int64_t height, int64_t width, bool aligns_corners)
      : in_(in), out_(out), height_(height), width_(width), aligns_corners_(aligns_corners) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() == 4 && in[1] > 0 && in[2] > 0, kInvalidArgument, "an operand of shape ",
                describe(in), ", expected pictures");
    values[out_].shape = in.with(1, height_).with(2, width_);
    rows_ = neighbours(in[1], height_);
    columns_ = neighbours(in[2], width_);
  }

  void run(const RunContext& run) override {
    const Shape& in = run.values[in_].shape;
    const int64_t channels = in[3];
    const int64_t pitch = in[2] * channels;
    const float* input = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    const ImageKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(image_kernels);
    run.context.parallel_for(
        in[0] * height_, 1 + (1 << 14) / (width_ * channels + 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float* image = input + i / height_ * in[1] * pitch;
            const Neighbours& y = rows_[static_cast<size_t>(i % height_)];
            float* row = out + i * width_ * channels;
            for (const Neighbours& x : columns_) {
              const float* top = image + y.first * pitch;
              const float* bottom = image + y.second * pitch;
              kernels.blend({top + x.first * channels, top + x.second * channels,
                             bottom + x.first * channels, bottom + x.second * channels, x.weight,
                             y.weight, row, channels});
              row += channels;
            }
          }
        });
  }

 private:
  std::vector<Neighbours> neighbours(int64_t in, int64_t out) const {
    std::vector<Neighbours> result;
    const float scale = aligns_corners_ && out != 1
                            ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                            : static_cast<float>(in) / static_cast<float>(out);
    for (int64_t i = 0; i < out; ++i) {
      const float position =
          aligns_corners_ ? static_cast<float>(i) * scale
                          : std::max((static_cast<float>(i) + 0.5f) * scale - 0.5f, 0.0f);
      const int64_t first = std::min(static_cast<int64_t>(position), in - 1);
      const int64_t second = std::min(first + 1, in - 1);
      result.push_back({first, second, position - static_cast<float>(first)});
    }
    return result;
  }

  size_t in_;
  size_t out_;
  int64_t height_;
  int64_t width_;
  bool aligns_corners_;
  std::vector<Neighbours> rows_;
  std::vector<Neighbours> columns_;
};

std::unique_ptr<Operator> make_resize_bilinear(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticResizeBilinear2D();
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_id());
  ETLAB_CHECK(builder.value(in).type == payload::Datatype::FP32 &&
                  builder.value(out).type == payload::Datatype::FP32,
              kNotSupported, "values of ", name_of(builder.value(in).type));
  constexpr uint32_t kLargest = 1 << 20;
  ETLAB_CHECK(node.new_height() > 0 && node.new_height() <= kLargest && node.new_width() > 0 &&
                  node.new_width() <= kLargest,
              kInvalidProgram, "new sizes ", node.new_height(), " by ", node.new_width(),
              ", expected 1 to ", kLargest);
  return std::make_unique<ResizeBilinear>(in, out, node.new_height(), node.new_width(),
                                          (node.flags() & kAlignCorners) != 0);
}

}  // namespace
ETLAB_XNNPACK_NODE(StaticResizeBilinear2D, make_resize_bilinear);
}  // namespace etlab
