#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "runtime/llm/language_model.h"
#include "runtime/llm/sampler.h"
#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<int64_t> tokens_of(const std::vector<Sampler::Candidate>& candidates) {
  std::vector<int64_t> tokens;
  for (const Sampler::Candidate& one : candidates) tokens.push_back(one.token);
  return tokens;
}

SamplerOptions hot() {
  SamplerOptions options;
  options.temperature = 1;
  return options;
}

// Logits of given probabilities.
std::vector<float> logits_of(const std::vector<float>& probabilities) {
  std::vector<float> logits;
  for (const float probability : probabilities) logits.push_back(std::log(probability) + 3);
  return logits;
}

ETLAB_TEST(greedy_takes_the_first_of_equal_logits) {
  std::vector<float> logits(131, -1.0f);
  logits[67] = logits[129] = 2;
  CHECK_EQUAL(Sampler({}).sample(logits), int64_t{67});
  logits[129] = 3;  // behind the last whole block of lanes
  CHECK_EQUAL(Sampler({}).sample(logits), int64_t{129});
  logits[130] = kInfinity;
  CHECK_EQUAL(Sampler({}).sample(logits), int64_t{130});
}

ETLAB_TEST(top_k_keeps_the_most_probable_and_of_equals_the_lower) {
  SamplerOptions options = hot();
  options.top_k = 3;
  const std::vector<float> logits = logits_of({0.1f, 0.3f, 0.1f, 0.3f, 0.2f});
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{1, 3, 4}));
  options.top_k = 4;
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{0, 1, 3, 4}));
}

ETLAB_TEST(top_p_keeps_the_fewest_that_reach_it) {
  SamplerOptions options = hot();
  options.top_p = 0.75;
  const std::vector<float> logits = logits_of({0.1f, 0.4f, 0.2f, 0.3f});
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{1, 2, 3}));
  options.top_p = 0.69;
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{1, 3}));
  options.top_p = 1e-9;
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{1}));
}

ETLAB_TEST(top_p_of_many_tokens_is_that_of_sorted_ones) {
  SamplerOptions options = hot();
  options.seed = 3;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(3000);
  for (float& logit : logits) logit = normal(random);
  for (const double top_p : {0.01, 0.5, 0.9, 0.999}) {
    options.top_p = top_p;
    std::vector<std::pair<double, int64_t>> sorted;
    double total = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      sorted.push_back({-std::exp(static_cast<double>(logits[i])), static_cast<int64_t>(i)});
      total -= sorted.back().first;
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> expected;
    for (double sum = 0; sum < top_p * total; sum -= sorted[expected.size() - 1].first) {
      expected.push_back(sorted[expected.size()].second);
    }
    std::sort(expected.begin(), expected.end());
    CHECK(tokens_of(Sampler(options).candidates(logits)) == expected);
  }
}

ETLAB_TEST(probabilities_are_those_of_softmax) {
  std::vector<float> logits;
  for (int i = 0; i < 400; ++i) logits.push_back(-0.3f * static_cast<float>(i));
  for (const double temperature : {0.01, 0.7, 1.0, 5.0}) {
    SamplerOptions options = hot();
    options.temperature = temperature;
    double total = 0;
    for (const float logit : logits) total += std::exp(logit / temperature);
    Sampler sampler(options);  // owns what candidates() returns
    for (const Sampler::Candidate& one : sampler.candidates(logits)) {
      const double expected = std::exp(logits[static_cast<size_t>(one.token)] / temperature) / total;
      CHECK(std::abs(one.weight - expected) <= 1e-5 * expected + 1e-36);
    }
  }
}

ETLAB_TEST(tiny_temperatures_take_the_most_probable_tokens) {
  SamplerOptions options = hot();
  options.temperature = 1e-300;
  CHECK_EQUAL(Sampler(options).sample(std::vector<float>{1, 3, 2.999f}), int64_t{1});
}

ETLAB_TEST(min_p_counts_from_the_most_probable) {
  SamplerOptions options = hot();
  options.min_p = 0.5;
  const std::vector<float> logits = logits_of({0.1f, 0.4f, 0.21f, 0.29f});
  CHECK(tokens_of(Sampler(options).candidates(logits)) == (std::vector<int64_t>{1, 2, 3}));
}

ETLAB_TEST(tokens_are_drawn_as_often_as_their_probabilities_say) {
  SamplerOptions options = hot();
  options.seed = 11;
  Sampler sampler(options);
  const std::vector<float> logits = logits_of({0.1f, 0.6f, 0.3f});
  int counts[3] = {};
  for (int i = 0; i < 10000; ++i) ++counts[sampler.sample(logits)];
  CHECK(std::abs(counts[0] - 1000) < 150);
  CHECK(std::abs(counts[1] - 6000) < 250);
  CHECK(std::abs(counts[2] - 3000) < 250);
}

ETLAB_TEST(a_seed_gives_the_same_tokens_again) {
  SamplerOptions options = hot();
  options.seed = 5;
  const std::vector<float> logits(50, 0.0f);
  const auto draw = [&] {
    Sampler sampler(options);
    std::vector<int64_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.sample(logits));
    return tokens;
  };
  const std::vector<int64_t> first = draw();
  CHECK(draw() == first);
  options.seed = 6;
  CHECK(draw() != first);
}

ETLAB_TEST(impossible_tokens_are_never_drawn) {
  SamplerOptions options = hot();
  options.temperature = 100;
  Sampler sampler(options);
  for (int i = 0; i < 200; ++i) CHECK(sampler.sample(std::vector<float>{-kInfinity, 0, -kInfinity, 1}) % 2 == 1);
}

ETLAB_TEST(logits_that_leave_nothing_to_draw_by_are_refused) {
  Sampler sampler(hot());
  CHECK_ERROR(kInvalidArgument, "no logits", sampler.sample({}));
  CHECK_ERROR(kInvalidArgument, "NaN", sampler.sample(std::vector<float>{1, NAN}));
  std::vector<float> many(100, 0.0f);
  many[3] = NAN;
  CHECK_ERROR(kInvalidArgument, "NaN", most_probable(many));
  CHECK_ERROR(kInvalidArgument, "largest logit is inf", sampler.sample(std::vector<float>{1, kInfinity}));
  CHECK_ERROR(kInvalidArgument, "largest logit is -inf", sampler.sample(std::vector<float>{-kInfinity}));
}

ETLAB_TEST(options_of_no_meaning_are_refused_by_name) {
  const auto with = [](auto change) {
    SamplerOptions options = hot();
    change(options);
    return Sampler(options);
  };
  CHECK_ERROR(kInvalidArgument, "temperature", with([](auto& o) { o.temperature = -1; }));
  CHECK_ERROR(kInvalidArgument, "temperature", with([](auto& o) { o.temperature = NAN; }));
  CHECK_ERROR(kInvalidArgument, "top_k", with([](auto& o) { o.top_k = -1; }));
  CHECK_ERROR(kInvalidArgument, "top_p", with([](auto& o) { o.top_p = 0; }));
  CHECK_ERROR(kInvalidArgument, "min_p", with([](auto& o) { o.min_p = 1.5; }));
}

ETLAB_TEST(a_program_that_is_no_language_model_is_refused_with_its_signature) {
  const auto program = load(small_program());
  CHECK_ERROR(kInvalidProgram, "takes float32[2, 3]; a language model is a method forward(tokens",
              language_model_of(*program));
  PlanBuilder other("classify");
  const auto without = load(pack(program_of(other)));
  CHECK_ERROR(kInvalidProgram, "no method 'forward' (it has: classify)", language_model_of(*without));
}

}  // namespace
}  // namespace etlab::test
