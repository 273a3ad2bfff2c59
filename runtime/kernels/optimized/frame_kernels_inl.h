// The source of frame_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h.
// Plain functions over pointers; everything has internal linkage.

namespace {

using etlab::FrameKernels;
using etlab::FramePack;
using etlab::FramePiece;
using etlab::FramePlane;

ETLAB_INLINE void fill_zeros(float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, zero());
  for (; i < count; ++i) out[i] = 0.0f;
}

ETLAB_INLINE void copy_row(const float* in, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, load(in + i));
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    store_tail(out + i, load_tail(in + i, tail), tail);
  }
}

// out[i] = in[2 * i]; reads no further than in[2 * count - 2].
ETLAB_INLINE void copy_every_second(const float* in, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kWidth < count; i += kWidth) {
    store(out + i, even_elements(load(in + 2 * i), load(in + 2 * i + kWidth)));
  }
  for (; i < count; ++i) out[i] = in[2 * i];
}

// A row of one phase: out[x] = in[x * stride + first] where that lies in [0, width), else zero.
void fill_row(const float* in, int64_t width, int64_t stride, int64_t first, float* out,
              int64_t count) {
  int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
  int64_t end = width > first ? (width - first + stride - 1) / stride : 0;
  if (begin > count) begin = count;
  if (end > count) end = count;
  if (end < begin) end = begin;
  fill_zeros(out, begin);
  const float* source = in + begin * stride + first;
  if (stride == 1) {
    copy_row(source, out + begin, end - begin);
  } else if (stride == 2) {
    copy_every_second(source, out + begin, end - begin);
  } else {
    for (int64_t x = begin; x < end; ++x) out[x] = source[(x - begin) * stride];
  }
  fill_zeros(out + end, count - end);
}

void fill(const FramePlane& p, float* frame) {
  for (int64_t phase = 0; phase < p.phase_count; ++phase) {
    for (int64_t y = 0; y < p.rows; ++y) {
      const int64_t row = y * p.stride_h + p.phase_rows[phase] - p.padding_h;
      if (row < 0 || row >= p.height) {
        fill_zeros(frame, p.pitch);
      } else {
        fill_row(p.input + row * p.width, p.width, p.stride_w,
                 p.phase_columns[phase] - p.padding_w, frame, p.pitch);
      }
      frame += p.pitch;
    }
  }
}

void pack(const FramePack& p, float* destination) {
  const bool is_ragged = p.columns % kWidth != 0 || p.panel_width > p.columns;
  int64_t channel = p.depth_begin / p.taps;
  int64_t tap = p.depth_begin % p.taps;
  // Pieces whose vector stays inside the panel write the whole of it: the next one mends the rest.
  int64_t whole = p.piece_count;
  while (whole > 0 && p.pieces[whole - 1].column + kWidth > p.panel_width) --whole;
  for (int64_t k = 0; k < p.depth; ++k) {
    const float* source = p.frames + channel * p.plane_size + p.tap_offsets[tap];
    if (is_ragged) store(destination + p.panel_width - kWidth, zero());
    for (int64_t i = 0; i < whole; ++i) {
      store(destination + p.pieces[i].column, load(source + p.pieces[i].source));
    }
    for (int64_t i = whole; i < p.piece_count; ++i) {
      const Tail tail = tail_of(p.pieces[i].count);
      store_tail(destination + p.pieces[i].column, load_tail(source + p.pieces[i].source, tail),
                 tail);
    }
    destination += p.panel_width;
    if (++tap == p.taps) {
      tap = 0;
      ++channel;
    }
  }
}

template <int vectors>
ETLAB_INLINE void depthwise_vectors(const float* frame, const int64_t* tap_offsets,
                                    const float* weights, int64_t taps, float bias, float* out) {
  F sum[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sum[v] = splat(bias);
  for (int64_t t = 0; t < taps; ++t) {
    const float* source = frame + tap_offsets[t];
    const F weight = splat(weights[t]);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = fma(load(source + v * kWidth), weight, sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) store(out + v * kWidth, sum[v]);
}

void depthwise(const float* frame, const int64_t* tap_offsets, const float* weights, int64_t taps,
               float bias, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + 7 * kWidth < count; i += 8 * kWidth) {
    depthwise_vectors<8>(frame + i, tap_offsets, weights, taps, bias, out + i);
  }
  for (; i + kWidth < count; i += 2 * kWidth) {
    depthwise_vectors<2>(frame + i, tap_offsets, weights, taps, bias, out + i);
  }
  if (i < count) depthwise_vectors<1>(frame + i, tap_offsets, weights, taps, bias, out + i);
}

void compact(const float* source, int64_t pitch, int64_t rows, int64_t columns, float* out) {
  for (int64_t y = 0; y < rows; ++y) copy_row(source + y * pitch, out + y * columns, columns);
}

constexpr FrameKernels kFrameKernels = {kWidth, &fill, &pack, &depthwise, &compact};

}  // namespace
