#include "runtime/llm/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kLanes = 64;  // largest logits are kept by lane, so that the loop is vectorised

struct Largest {
  float logit;
  bool has_nan;
};

Largest largest_of(Span<const float> logits) {
  float best[kLanes];
  int nan[kLanes] = {};
  std::fill(best, best + kLanes, -std::numeric_limits<float>::infinity());
  const float* x = logits.data();
  const size_t whole = logits.size() - logits.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = x[i + lane];
      best[lane] = value > best[lane] ? value : best[lane];
      nan[lane] |= value != value ? 1 : 0;
    }
  }
  Largest result{best[0], false};
  for (size_t i = whole; i < logits.size(); ++i) {
    result.logit = std::max(result.logit, x[i]);
    result.has_nan = result.has_nan || x[i] != x[i];
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    result.logit = std::max(result.logit, best[lane]);
    result.has_nan = result.has_nan || nan[lane] != 0;
  }
  return result;
}

float checked_largest(Span<const float> logits) {
  ETLAB_CHECK(!logits.empty(), kInvalidArgument, "sampler: there are no logits");
  const Largest largest = largest_of(logits);
  ETLAB_CHECK(!largest.has_nan, kInvalidArgument, "sampler: the logits hold NaN; compare the model "
              "with eager to see where it begins");
  return largest.logit;
}

// e to the power of (x - largest) * factor, which is 0 or less, to about 2 units in the last place; 0
// where that is below -87. Of our own: it is the same on every machine, and without a
// condition the compiler makes vectors of it.
void exponentials(const float* x, size_t count, float largest, float factor, float* result) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // few bits, so that its products are exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;      // 1.5 * 2^23: adding it rounds to whole numbers
  constexpr int32_t kMost = 0x42ae0000;      // the bits of 87
  for (size_t i = 0; i < count; ++i) {
    const float magnitude = (largest - x[i]) * factor;
    int32_t bits;
    std::memcpy(&bits, &magnitude, sizeof(bits));  // grow with the number
    const int32_t is_counted = (bits - kMost) >> 31;  // all bits, or none
    bits = kMost + ((bits - kMost) & is_counted);
    float power;
    std::memcpy(&power, &bits, sizeof(power));
    const float whole = (kRound - power * kLog2E) - kRound;
    const float r = (-power - whole * kLn2High) - whole * kLn2Low;  // from -0.35 to 0.35
    // Taylor's series.
    float root = 1.0f / 5040;
    root = root * r + 1.0f / 720;
    root = root * r + 1.0f / 120;
    root = root * r + 1.0f / 24;
    root = root * r + 1.0f / 6;
    root = root * r + 0.5f;
    root = root * r + 1.0f;
    root = root * r + 1.0f;
    int32_t scaled;
    std::memcpy(&scaled, &root, sizeof(scaled));
    scaled = (scaled + static_cast<int32_t>(whole) * (1 << 23)) & is_counted;
    std::memcpy(result + i, &scaled, sizeof(scaled));
  }
}

// In lanes, whose sums are added at the end: the same order everywhere.
double total_of(const std::vector<float>& weights) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {};
  const size_t whole = weights.size() - weights.size() % kSums;
  for (size_t i = 0; i < whole; i += kSums) {
    for (size_t lane = 0; lane < kSums; ++lane) sums[lane] += weights[i + lane];
  }
  for (size_t i = whole; i < weights.size(); ++i) sums[0] += weights[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double total_of(const std::vector<Sampler::Candidate>& candidates) {
  double total = 0;
  for (const Sampler::Candidate& one : candidates) total += one.weight;
  return total;
}

// More probable first, of equals the lower token.
bool is_before(const Sampler::Candidate& a, const Sampler::Candidate& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
}

}  // namespace

int64_t most_probable(Span<const float> logits) {
  const float largest = checked_largest(logits);
  return std::find(logits.begin(), logits.end(), largest) - logits.begin();
}

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {
  const auto is_finite_from_zero = [](double value) { return value >= 0 && std::isfinite(value); };
  ETLAB_CHECK(is_finite_from_zero(options.temperature), kInvalidArgument,
              "temperature: expected a number from 0, got ", options.temperature);
  ETLAB_CHECK(options.top_k >= 0, kInvalidArgument, "top_k: expected a number from 0 (all tokens), got ",
              options.top_k);
  ETLAB_CHECK(options.top_p > 0 && options.top_p <= 1, kInvalidArgument,
              "top_p: expected a number above 0 and up to 1 (all tokens), got ", options.top_p);
  ETLAB_CHECK(options.min_p >= 0 && options.min_p <= 1, kInvalidArgument,
              "min_p: expected a number from 0 (all tokens) to 1, got ", options.min_p);
}

// The most probable `top_k` tokens; of those with just the least weight the lower ones.
void Sampler::take_top_k() {
  const auto wanted = static_cast<size_t>(options_.top_k);
  ordered_ = weights_;
  const auto last = ordered_.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::nth_element(ordered_.begin(), last, ordered_.end(), std::greater<float>());
  const float least = *last;
  auto equal = wanted - static_cast<size_t>(std::count_if(
                            ordered_.begin(), last, [&](float weight) { return weight > least; }));
  take_from(least);
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                   [&](const Candidate& one) {
                                     if (one.weight > least) return false;
                                     if (equal == 0) return true;
                                     --equal;
                                     return false;
                                   }),
                    candidates_.end());
}

void Sampler::take_from(float least) {
  candidates_.resize(weights_.size());
  size_t kept = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    candidates_[kept] = {static_cast<int32_t>(i), weights_[i]};
    kept += weights_[i] >= least ? 1 : 0;
  }
  candidates_.resize(kept);
}

void Sampler::keep_top_p(double total) {
  std::sort(candidates_.begin(), candidates_.end(), is_before);
  double sum = 0;
  size_t kept = 0;
  while (kept < candidates_.size() && sum < options_.top_p * total) {
    sum += candidates_[kept++].weight;
  }
  candidates_.resize(kept);
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
}

void Sampler::select(Span<const float> logits) {
  if (options_.temperature == 0) {
    candidates_.assign(1, {static_cast<int32_t>(most_probable(logits)), 1});
    return;
  }
  const float largest = checked_largest(logits);
  ETLAB_CHECK(std::isfinite(largest), kInvalidArgument, "sampler: the largest logit is ", largest,
              ", which leaves nothing to draw by; temperature=0 takes it as it is");
  // A temperature too low for its inverse takes the most probable tokens, as it should.
  constexpr double kMostFactor = 1e30;
  const double factor = std::min(1 / options_.temperature, kMostFactor);
  weights_.resize(logits.size());
  exponentials(logits.data(), logits.size(), largest, static_cast<float>(factor), weights_.data());
  const auto min_p = static_cast<float>(options_.min_p);
  if (options_.top_k > 0 && static_cast<size_t>(options_.top_k) < weights_.size()) {
    take_top_k();
    if (options_.top_p < 1) keep_top_p(total_of(candidates_));
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                     [&](const Candidate& one) { return one.weight < min_p; }),
                      candidates_.end());
    return;
  }
  if (options_.top_p >= 1) return take_from(min_p);
  // Tokens below the mean of what is left out at most are left out for sure: together they are less
  // than that. It leaves few to be sorted.
  const double total = total_of(weights_);
  const double mean = (1 - options_.top_p) * total / static_cast<double>(weights_.size());
  take_from(std::max(min_p, std::nextafter(static_cast<float>(mean), 0.0f)));
  keep_top_p(total);
}

const std::vector<Sampler::Candidate>& Sampler::candidates(Span<const float> logits) {
  select(logits);
  const double total = total_of(candidates_);
  for (Candidate& one : candidates_) one.weight = static_cast<float>(one.weight / total);
  return candidates_;
}

int64_t Sampler::sample(Span<const float> logits) {
  select(logits);
  if (candidates_.size() == 1) return candidates_.front().token;
  // 53 random bits: a number from 0 up to 1, itself left out.
  const double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * total_of(candidates_);
  double sum = 0;
  int64_t token = 0;
  for (const Candidate& one : candidates_) {
    if (one.weight <= 0) continue;
    sum += one.weight;
    token = one.token;
    if (draw < sum) break;
  }
  return token;
}

}  // namespace etlab
