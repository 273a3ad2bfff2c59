#include "runtime/llm/sampler.h"

#include <algorithm>
#include <cmath>
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

void Sampler::keep_top_k() {
  const auto count = static_cast<size_t>(options_.top_k);
  if (count == 0 || count >= candidates_.size()) return;
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(candidates_.begin(), end, candidates_.end(), is_before);
  candidates_.erase(end, candidates_.end());
}

// A heap: the few most probable tokens come out without sorting the vocabulary.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  const auto is_after = [](const Candidate& a, const Candidate& b) { return is_before(b, a); };
  std::make_heap(candidates_.begin(), candidates_.end(), is_after);
  double sum = 0;
  auto end = candidates_.end();
  while (end != candidates_.begin() && sum < options_.top_p * total) {
    std::pop_heap(candidates_.begin(), end, is_after);
    --end;
    sum += end->weight;
  }
  candidates_.erase(candidates_.begin(), end);
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  const auto least = static_cast<float>(options_.min_p);  // the most probable one has weight 1
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                   [&](const Candidate& one) { return one.weight < least; }),
                    candidates_.end());
}

const std::vector<Sampler::Candidate>& Sampler::candidates(Span<const float> logits) {
  if (options_.temperature == 0) {
    candidates_.assign(1, {most_probable(logits), 1});
    return candidates_;
  }
  const float largest = checked_largest(logits);
  ETLAB_CHECK(std::isfinite(largest), kInvalidArgument, "sampler: the largest logit is ", largest,
              ", which leaves nothing to draw by; temperature=0 takes it as it is");
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = {static_cast<int64_t>(i), logits[i]};
  keep_top_k();
  for (Candidate& one : candidates_) {
    const double scaled = (static_cast<double>(one.weight) - largest) / options_.temperature;
    one.weight = std::exp(static_cast<float>(scaled));
  }
  keep_top_p();
  keep_min_p();
  const auto by_token = [](const Candidate& a, const Candidate& b) { return a.token < b.token; };
  if (!std::is_sorted(candidates_.begin(), candidates_.end(), by_token)) {
    std::sort(candidates_.begin(), candidates_.end(), by_token);
  }
  double total = 0;
  for (const Candidate& one : candidates_) total += one.weight;
  for (Candidate& one : candidates_) one.weight = static_cast<float>(one.weight / total);
  return candidates_;
}

int64_t Sampler::sample(Span<const float> logits) {
  const std::vector<Candidate>& from = candidates(logits);
  if (from.size() == 1) return from.front().token;
  double total = 0;
  for (const Candidate& one : from) total += one.weight;
  // 53 random bits: a number from 0 up to 1, itself left out.
  const double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  double sum = 0;
  for (const Candidate& one : from) {
    sum += one.weight;
    if (draw < sum) return one.token;
  }
  return from.back().token;
}

}  // namespace etlab
