#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/core/span.h"

namespace etlab {

// How the next token is chosen. The parts apply in the order in which they stand here, each on what
// the one before has left.
struct SamplerOptions {
  double temperature = 0;  // logits are divided by it; 0: the largest logit, whatever the rest says
  int64_t top_k = 0;       // only that many of the most probable tokens; 0: all
  double top_p = 1;        // the fewest tokens whose probabilities add up to it; 1: all
  double min_p = 0;        // not those less probable than this share of the most probable one
  uint64_t seed = 0;
};

// Chooses tokens. The same seed and the same logits give the same tokens on every machine; ties are won
// by the lower token.
class Sampler {
 public:
  // Throws kInvalidArgument naming the option.
  explicit Sampler(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  // A token for logits (vocabulary). Throws kInvalidArgument when they are empty, hold NaN, or have
  // no finite largest one to draw by.
  int64_t sample(Span<const float> logits);
  // The tokens that `sample` would draw from, with probabilities that add up to 1, in the order of
  // tokens.
  struct Candidate {
    int32_t token;
    float weight;  // a probability, or in proportion to it
  };
  const std::vector<Candidate>& candidates(Span<const float> logits);

 private:
  // Fills candidates_ with what is left, in the order of tokens.
  void select(Span<const float> logits);
  void take_top_k();
  void take_from(float least);
  void keep_top_p(double total);

  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<float> weights_;  // of all tokens; the largest is 1
  std::vector<float> ordered_;
  std::vector<Candidate> candidates_;
};

// The token with the largest logit, the first of equals. Throws as `Sampler::sample`.
int64_t most_probable(Span<const float> logits);

}  // namespace etlab
