#pragma once

#include <cstdint>

namespace etlab {

// Convolutions with 3x3 windows of stride 1 by Winograd's short filters: a patch of the picture,
// tile + 2 pixels square, is brought to values at as many positions; there a product of channels
// with weights is what a convolution was, and the sums come back as tile * tile pixels.

constexpr int kMostWinogradTile = 4;
constexpr int kMostWinogradPositions = (kMostWinogradTile + 2) * (kMostWinogradTile + 2);

struct WinogradOutput {
  const float* sums;  // (positions, columns)
  int64_t columns;
  const float* bias;     // (columns)
  float* const* pixels;  // (tile, tile) where results go; more than once where they do not count
  float lower;
  float upper;
};

struct WinogradTransform {
  int tile;  // pixels a side of what a patch gives
  // values (positions, channels) = the patch, of which pixels (tile + 2, tile + 2) point to the
  // first channels.
  void (*input)(const float* const* pixels, int64_t channels, float* values);
  // False where a sum is no finite number: then results of other pixels may hold it too.
  bool (*output)(const WinogradOutput& job);
};

struct WinogradKernels {
  WinogradTransform two;   // 4 products for what takes 9
  WinogradTransform four;  // 2.25 for 9
};

extern const WinogradKernels winograd_kernels_generic;
extern const WinogradKernels winograd_kernels_neon;
extern const WinogradKernels winograd_kernels_avx2;
extern const WinogradKernels winograd_kernels_avx512;

// The weights' side: rows of G for a tile of two and of four, (tile + 2, 3). Four uses the points
// 0, ±3/4, ±3/2 and infinity: they are exact, and rounding errors are a quarter of those of the
// customary 0, ±1, ±2.
constexpr double kWinogradTwo[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kNear = 0.75;
constexpr double kFar = 1.5;
constexpr double kNearSquare = kNear * kNear;
constexpr double kFarSquare = kFar * kFar;
constexpr double kNearDivisor = 2 * kNearSquare * (kNearSquare - kFarSquare);
constexpr double kFarDivisor = 2 * kFarSquare * (kFarSquare - kNearSquare);
constexpr double kWinogradFour[6][3] = {
    {1 / (kNearSquare * kFarSquare), 0, 0},
    {1 / kNearDivisor, kNear / kNearDivisor, kNearSquare / kNearDivisor},
    {1 / kNearDivisor, -kNear / kNearDivisor, kNearSquare / kNearDivisor},
    {1 / kFarDivisor, kFar / kFarDivisor, kFarSquare / kFarDivisor},
    {1 / kFarDivisor, -kFar / kFarDivisor, kFarSquare / kFarDivisor},
    {0, 0, 1}};

}  // namespace etlab
