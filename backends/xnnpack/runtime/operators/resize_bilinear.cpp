#include <algorithm>
#include <cmath>

#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

constexpr uint32_t kAlignCorners = 8;

// Two neighbours along one axis and how far the second counts.
struct Neighbours {
  int64_t first;
  int64_t second;
  float weight;
};

// int8 in fixed point: weights of 2^11, rounded half up at the end.
constexpr int kWeightBits = 11;
void blend_integers(const int8_t* const (&corners)[4], int32_t right, int32_t bottom,
                    int64_t channels, int8_t* out) {
  constexpr int32_t kHalf = 1 << (2 * kWeightBits - 1);
  for (int64_t c = 0; c < channels; ++c) {
    const int32_t top_left = corners[0][c];
    const int32_t bottom_left = corners[2][c];
    const int32_t top = top_left * (1 << kWeightBits) + (corners[1][c] - top_left) * right;
    const int32_t low = bottom_left * (1 << kWeightBits) + (corners[3][c] - bottom_left) * right;
    const int32_t sum = top * (1 << kWeightBits) + (low - top) * bottom;
    out[c] = static_cast<int8_t>((sum + kHalf) >> (2 * kWeightBits));
  }
}

class ResizeBilinear : public Operator {
 public:
  ResizeBilinear(size_t in, size_t out, int64_t height, int64_t width, bool aligns_corners,
                 bool is_integer)
      : in_(in), out_(out), height_(height), width_(width), aligns_corners_(aligns_corners),
        is_integer_(is_integer) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() == 4 && in[1] > 0 && in[2] > 0, kInvalidArgument, "an operand of shape ",
                describe(in), ", expected pictures");
    values[out_].shape = in.with(1, height_).with(2, width_);
    rows_ = neighbours(in[1], height_);
    columns_ = neighbours(in[2], width_);
  }

  void run(const RunContext& run) override {
    if (is_integer_) {
      resize<int8_t>(run, [](const int8_t* const(&corners)[4], const Neighbours& x,
                             const Neighbours& y, int64_t channels, int8_t* out) {
        constexpr float kOne = 1 << kWeightBits;
        blend_integers(corners, static_cast<int32_t>(std::lrint(x.weight * kOne)),
                       static_cast<int32_t>(std::lrint(y.weight * kOne)), channels, out);
      });
      return;
    }
    const ImageKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(image_kernels);
    resize<float>(run, [&](const float* const(&corners)[4], const Neighbours& x,
                           const Neighbours& y, int64_t channels, float* out) {
      kernels.blend({corners[0], corners[1], corners[2], corners[3], x.weight, y.weight, out,
                     channels});
    });
  }

 private:
  template <typename T, typename Blend>
  void resize(const RunContext& run, const Blend& blend) const {
    const Shape& in = run.values[in_].shape;
    const int64_t channels = in[3];
    const int64_t pitch = in[2] * channels;
    const T* input = run.values[in_].as<T>();
    T* out = run.values[out_].as<T>();
    parallel_near(
        run.context, in[0] * height_, 1 + (1 << 14) / (width_ * channels + 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const T* image = input + i / height_ * in[1] * pitch;
            const Neighbours& y = rows_[static_cast<size_t>(i % height_)];
            const T* top = image + y.first * pitch;
            const T* bottom = image + y.second * pitch;
            T* row = out + i * width_ * channels;
            for (const Neighbours& x : columns_) {
              const T* const corners[4] = {top + x.first * channels, top + x.second * channels,
                                           bottom + x.first * channels,
                                           bottom + x.second * channels};
              blend(corners, x, y, channels, row);
              row += channels;
            }
          }
        });
  }

  std::vector<Neighbours> neighbours(int64_t in, int64_t out) const {
    std::vector<Neighbours> result;
    const float scale = aligns_corners_ && out != 1
                            ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                            : static_cast<float>(in) / static_cast<float>(out);
    const float shift = aligns_corners_ ? 0.0f : 0.5f * scale - 0.5f;
    for (int64_t i = 0; i < out; ++i) {
      const float position = std::min(std::max(static_cast<float>(i) * scale + shift, 0.0f),
                                      static_cast<float>(in - 1));
      const auto first = static_cast<int64_t>(position);
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
  bool is_integer_;
  std::vector<Neighbours> rows_;
  std::vector<Neighbours> columns_;
};

std::unique_ptr<Operator> make_resize_bilinear(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_StaticResizeBilinear2D();
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_id());
  check_same_type(builder, in, out);
  const bool is_integer = builder.value(in).type == payload::Datatype::QINT8;
  ETLAB_CHECK(is_integer || builder.value(in).type == payload::Datatype::FP32, kNotSupported,
              "values of ", name_of(builder.value(in).type));
  constexpr uint32_t kLargest = 1 << 20;
  ETLAB_CHECK(node.new_height() > 0 && node.new_height() <= kLargest && node.new_width() > 0 &&
                  node.new_width() <= kLargest,
              kInvalidProgram, "new sizes ", node.new_height(), " by ", node.new_width(),
              ", expected 1 to ", kLargest);
  return std::make_unique<ResizeBilinear>(in, out, node.new_height(), node.new_width(),
                                          (node.flags() & kAlignCorners) != 0, is_integer);
}

}  // namespace
ETLAB_XNNPACK_NODE(StaticResizeBilinear2D, make_resize_bilinear);
}  // namespace etlab
