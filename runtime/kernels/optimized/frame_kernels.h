#pragma once

#include <cstdint>

namespace etlab {

// A plane of the input with its padding, cut into stride_h * stride_w interleaved phases, so that
// each tap of a convolution reads frame[offset + y * pitch + x] for output (y, x), without checks.
struct FramePlane {
  const float* input;  // (height, width)
  int64_t height;
  int64_t width;
  int64_t stride_h;
  int64_t stride_w;
  int64_t padding_h;
  int64_t padding_w;
  int64_t rows;         // of a phase
  int64_t pitch;        // columns of a phase
  int64_t phase_count;
  const int32_t* phase_rows;     // (phase_count) which row of the stride
  const int32_t* phase_columns;  // (phase_count) which column of the stride
  bool has_border;               // what the input leaves out is filled already
  float padding_value;
};

// A run of a panel's columns that lies in one row of a phase.
struct FramePiece {
  int32_t column;  // of the panel
  int32_t count;   // at most a vector
  int64_t source;  // in the phase
};

// Brings depth rows [depth_begin, depth_begin + depth) of a convolution's columns into a panel.
struct FramePack {
  const float* frames;  // (channels, plane_size)
  int64_t plane_size;
  const int64_t* tap_offsets;  // (taps)
  int64_t taps;
  int64_t depth_begin;  // = channel * taps + tap
  int64_t depth;
  const FramePiece* pieces;
  int64_t piece_count;
  int64_t columns;
  int64_t panel_width;
};

// The windows of a max pooling over one frame.
struct MaxPool {
  const float* frame;
  const int64_t* tap_offsets;  // (taps)
  const int32_t* tap_steps;    // (taps) from a window's first element in the input to the tap's
  int64_t taps;
  int64_t count;
  float* best;     // (count) and a vector more
  int32_t* steps;  // likewise; -1 where every element is minus infinity
};

struct FrameKernels {
  int width;
  void (*fill)(const FramePlane& plane, float* frame);
  // May read one vector beyond the frames, which the caller provides.
  void (*pack)(const FramePack& pack, float* destination);
  // out[i] = bias + sum over taps of weights[t] * frame[offsets[t] + i] for i in [0, count), and a
  // vector beyond: both sides have that much room.
  void (*depthwise)(const float* frame, const int64_t* tap_offsets, const float* weights,
                    int64_t taps, float bias, float* out, int64_t count);
  // Copies (rows, columns) out of rows `pitch` apart.
  void (*compact)(const float* source, int64_t pitch, int64_t rows, int64_t columns, float* out);
  // The same, divided.
  void (*compact_divided)(const float* source, int64_t pitch, int64_t rows, int64_t columns,
                          float divisor, float* out);
  // The largest element of each window, NaN above all, and the last tap that raised it.
  void (*max_pool)(const MaxPool& pool);
  // out[x] = first + x * stride + steps[x]; returns whether every step was found.
  bool (*place_indices)(const int32_t* steps, int64_t count, int64_t first, int64_t stride,
                        int64_t* out);
};

extern const FrameKernels frame_kernels_generic;
extern const FrameKernels frame_kernels_neon;
extern const FrameKernels frame_kernels_avx2;
extern const FrameKernels frame_kernels_avx512;

}  // namespace etlab
