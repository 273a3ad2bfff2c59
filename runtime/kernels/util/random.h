#pragma once

#include <cstdint>

#include "runtime/core/context.h"

namespace etlab {

// Random numbers of this process: every call takes the next ones, seeded by the system when the
// first are drawn. Safe to call from several methods at once.

// Uniform in [0, 1), multiples of 2^-bits, so that a dtype of as many bits never rounds one to 1.
void draw_uniform(Context& context, int bits, int64_t count, double* values);
// Normal with mean 0 and deviation 1.
void draw_normal(Context& context, int64_t count, double* values);

}  // namespace etlab
