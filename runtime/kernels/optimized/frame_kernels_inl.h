// The source of frame_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h.
// Plain functions over pointers; everything has internal linkage.

namespace {

using etlab::FrameKernels;
using etlab::FramePack;
using etlab::FramePiece;
using etlab::FramePlane;
using etlab::MaxPool;

ETLAB_INLINE void fill_value(float* out, int64_t count, float value) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, splat(value));
  for (; i < count; ++i) out[i] = value;
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
  if (i == count) return;
  const int left = static_cast<int>(count - i);
  const int in_second = 2 * left - 1 - kWidth;
  const Tail first = tail_of(in_second >= 0 ? kWidth : 2 * left - 1);
  const F low = load_tail(in + 2 * i, first);
  const F high =
      in_second > 0 ? load_tail(in + 2 * i + kWidth, tail_of(in_second)) : zero();
  store_tail(out + i, even_elements(low, high), tail_of(left));
}

// Where in[x * stride + first], x in [0, count), lies inside [0, size).
struct Inside {
  int64_t begin;
  int64_t end;
};
ETLAB_INLINE Inside inside(int64_t size, int64_t stride, int64_t first, int64_t count) {
  int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
  int64_t end = size > first ? (size - first + stride - 1) / stride : 0;
  if (begin > count) begin = count;
  if (end > count) end = count;
  if (end < begin) end = begin;
  return {begin, end};
}

ETLAB_INLINE void copy_strided(const float* in, int64_t stride, float* out, int64_t count) {
  if (stride == 1) {
    copy_row(in, out, count);
  } else if (stride == 2) {
    copy_every_second(in, out, count);
  } else {
    for (int64_t x = 0; x < count; ++x) out[x] = in[x * stride];
  }
}

void fill(const FramePlane& p, float* frame) {
  for (int64_t phase = 0; phase < p.phase_count; ++phase) {
    const int64_t first_row = p.phase_rows[phase] - p.padding_h;
    const int64_t first_column = p.phase_columns[phase] - p.padding_w;
    const Inside rows = inside(p.height, p.stride_h, first_row, p.rows);
    const Inside columns = inside(p.width, p.stride_w, first_column, p.pitch);
    const int64_t count = columns.end - columns.begin;
    if (!p.has_border) fill_value(frame, rows.begin * p.pitch, p.padding_value);
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      float* row = frame + y * p.pitch;
      if (!p.has_border) {
        fill_value(row, columns.begin, p.padding_value);
        fill_value(row + columns.end, p.pitch - columns.end, p.padding_value);
      }
      const int64_t source_row = y * p.stride_h + first_row;
      if (count > 0) {
        copy_strided(p.input + source_row * p.width + columns.begin * p.stride_w + first_column,
                     p.stride_w, row + columns.begin, count);
      }
    }
    if (!p.has_border) {
      fill_value(frame + rows.end * p.pitch, (p.rows - rows.end) * p.pitch, p.padding_value);
    }
    frame += p.rows * p.pitch;
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
  int64_t left = (count + kWidth - 1) / kWidth;
  // As many vectors at once as hide the latency of the multiply-add, none left alone at the end.
  while (left > 0) {
    const int64_t step = left >= 16 || left == 8 ? 8 : left > 8 ? (left + 1) / 2 : left;
#define ETLAB_DEPTHWISE_CASE(n)                                                   \
  case n:                                                                         \
    depthwise_vectors<n>(frame, tap_offsets, weights, taps, bias, out);           \
    break;
    switch (step) {
      ETLAB_DEPTHWISE_CASE(1)
      ETLAB_DEPTHWISE_CASE(2)
      ETLAB_DEPTHWISE_CASE(3)
      ETLAB_DEPTHWISE_CASE(4)
      ETLAB_DEPTHWISE_CASE(5)
      ETLAB_DEPTHWISE_CASE(6)
      ETLAB_DEPTHWISE_CASE(7)
      ETLAB_DEPTHWISE_CASE(8)
    }
#undef ETLAB_DEPTHWISE_CASE
    frame += step * kWidth;
    out += step * kWidth;
    left -= step;
  }
}

void compact(const float* source, int64_t pitch, int64_t rows, int64_t columns, float* out) {
  for (int64_t y = 0; y < rows; ++y) copy_row(source + y * pitch, out + y * columns, columns);
}

void compact_divided(const float* source, int64_t pitch, int64_t rows, int64_t columns,
                     float divisor, float* out) {
  const F by = splat(divisor);
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < columns; x += kWidth) {
      const int64_t left = columns - x;
      const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
      store_tail(out + x, load_tail(source + x, tail) / by, tail);
    }
    source += pitch;
    out += columns;
  }
}

void max_pool(const MaxPool& p) {
  for (int64_t i = 0; i < p.count; i += kWidth) {
    F best = splat(-__builtin_inff());
    F step = float_of_bits(splat_int(-1));
    for (int64_t t = 0; t < p.taps; ++t) {
      const F x = load(p.frame + p.tap_offsets[t] + i);
      const Mask is_better = either(less(best, x), is_nan(x));
      best = select(is_better, x, best);
      step = select(is_better, float_of_bits(splat_int(p.tap_steps[t])), step);
    }
    store(p.best + i, best);
    store(reinterpret_cast<float*>(p.steps + i), step);
  }
}

bool place_indices(const int32_t* steps, int64_t count, int64_t first, int64_t stride,
                   int64_t* out) {
  int32_t smallest = 0;
  for (int64_t x = 0; x < count; ++x) {
    out[x] = first + x * stride + steps[x];
    smallest = steps[x] < smallest ? steps[x] : smallest;
  }
  return smallest >= 0;
}

constexpr FrameKernels kFrameKernels = {kWidth,   &fill,           &pack,     &depthwise,
                                        &compact, &compact_divided, &max_pool, &place_indices};

}  // namespace
