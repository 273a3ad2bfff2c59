#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/core/context.h"
#include "runtime/kernels/optimized/gemm_kernels.h"

namespace etlab {

// C = A * B, with bias and clamp where asked for. Sums run over the depth in order whatever the
// number of threads, so that results do not depend on it.
struct Gemm {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const float* a = nullptr;  // (rows, depth), depth contiguous
  int64_t a_stride = 0;
  float* c = nullptr;  // (rows, columns), columns contiguous
  int64_t c_stride = 0;
  const float* row_bias = nullptr;     // (rows)
  const float* column_bias = nullptr;  // (columns)
  bool accumulate = false;             // add to what C holds
  bool clamp = false;                  // the result to [lower, upper]
  float lower = 0;
  float upper = 0;
};

// The operand B, (depth, columns), in any form that can be brought into panels.
class GemmOperand {
 public:
  virtual ~GemmOperand() = default;
  // Writes rows [depth_begin, depth_begin + depth) of columns [column, column + columns) to
  // destination (depth, panel_width), a multiple of the vector width; columns beyond are any finite
  // or padded value, never stored. Called by several threads at once.
  virtual void pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth, int64_t column,
                    int64_t columns, float* destination, int64_t panel_width) const = 0;
  // Where rows of B have contiguous columns in memory already: the first element and the stride.
  struct InPlace {
    const float* data = nullptr;
    int64_t stride = 0;
  };
  virtual InPlace in_place() const { return {}; }
};

// B (depth, columns) with contiguous columns, rows `stride` apart.
class RowMajorOperand : public GemmOperand {
 public:
  RowMajorOperand(const float* data, int64_t stride) : data_(data), stride_(stride) {}
  void pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth, int64_t column,
            int64_t columns, float* destination, int64_t panel_width) const override;
  InPlace in_place() const override { return {data_, stride_}; }

 private:
  const float* data_;
  int64_t stride_;
};

// B given as its transpose (columns, depth) with contiguous depth, as the weight of a linear layer.
class ColumnMajorOperand : public GemmOperand {
 public:
  ColumnMajorOperand(const float* data, int64_t stride) : data_(data), stride_(stride) {}
  void pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth, int64_t column,
            int64_t columns, float* destination, int64_t panel_width) const override;
  const float* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const float* data_;
  int64_t stride_;
};

// B packed once, for constant weights: panels in order, each in its depth blocks.
class PackedOperand {
 public:
  PackedOperand(const GemmOperand& source, int64_t depth, int64_t columns);
  int64_t depth() const { return depth_; }
  int64_t columns() const { return columns_; }
  size_t nbytes() const { return count_ * sizeof(float); }
  const GemmKernels& kernels() const { return *kernels_; }
  const float* data() const { return data_; }

 private:
  const GemmKernels* kernels_;
  int64_t depth_;
  int64_t columns_;
  size_t count_ = 0;
  std::unique_ptr<float[]> storage_;
  float* data_ = nullptr;  // the aligned part of storage_
};

// Packs B as it goes, into scratch, or reads it in place where that is faster.
void gemm(Context& context, const Gemm& problem, const GemmOperand& b);
// The same with gemm_scratch_size floats of the caller's, for several products in turn.
void gemm(Context& context, const Gemm& problem, const GemmOperand& b, float* scratch);
int64_t gemm_scratch_size(const Context& context, const Gemm& problem, const GemmOperand& b);
// The same on the calling thread only, for use inside a parallel range; `scratch` has
// gemm_worker_scratch_size floats.
void gemm_on_one_thread(const Gemm& problem, const GemmOperand& b, float* scratch);
int64_t gemm_worker_scratch_size(int64_t depth, int64_t columns);
// For B as its transpose: few rows are computed as dot products without packing.
void gemm_transposed(Context& context, const Gemm& problem, const ColumnMajorOperand& b);
void gemm_packed(Context& context, const Gemm& problem, const PackedOperand& b);

// Floating-point operations a second of one register tile on operands that stay in the first-level
// cache: what the products of a benchmark are compared with.
double measure_gemm_peak(int repeats);

}  // namespace etlab
