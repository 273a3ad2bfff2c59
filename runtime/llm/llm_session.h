#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/method.h"
#include "runtime/llm/language_model.h"
#include "runtime/llm/sampler.h"

namespace etlab {

// Why a generation ended.
enum class FinishReason { kStopToken, kLength, kContext, kCallback, kStopped };
const char* name_of(FinishReason reason);

struct GenerationOptions {
  SamplerOptions sampler;
  int64_t max_new_tokens = -1;        // -1: as many as the context holds
  std::vector<int64_t> stop_tokens;   // end the text and are not part of it
};

// Times are nanoseconds.
struct GenerationStats {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;     // of the prompt, which were in the cache
  int64_t generated_tokens = 0;  // without the one that ended the text
  int64_t prefill = 0;           // from the start to the logits behind the prompt
  int64_t first_token = 0;       // from the start to the first token
  int64_t decode = 0;            // of all steps after the prefill
  int64_t decode_steps = 0;      // runs of the model in them
  int64_t sampling = 0;          // part of first_token and decode
  FinishReason reason = FinishReason::kLength;
};

// One text that grows: methods of their own, with a cache of keys and values, and the tokens that are
// in it. A program serves many sessions; packed weights are shared between them.
class LlmSession {
 public:
  // The program must outlive the session. Throws what language_model_of and Method::load throw.
  static std::unique_ptr<LlmSession> load(const Program& program);

  const LanguageModel& model() const { return model_; }
  // Nanoseconds that `load` took.
  int64_t load_time() const { return load_time_; }

  // Sees each new token; false ends the generation.
  using OnToken = std::function<bool(int64_t token)>;
  // Writes on after `prompt`, the whole text so far: what its beginning shares with the tokens in the
  // cache is not computed again. Throws kInvalidArgument for an empty prompt, a token outside of the
  // vocabulary or a prompt that the context cannot hold, kInterrupted when the poller says so.
  // After an error the cache holds a beginning of the text, and the session can be used on.
  GenerationStats generate(Span<const int64_t> prompt, const GenerationOptions& options,
                           const OnToken& on_token, Poller* poller);
  // Takes the prompt into the cache without generating, and gives the logits (vocabulary) of the
  // token behind it, which stay valid until the next call. Throws as `generate`.
  Span<const float> prefill(Span<const int64_t> prompt, Poller* poller);
  // Ends the generation that is under way, within the current token. From any thread; without one it
  // does nothing.
  void stop();
  // Forgets the tokens from `length` on. Throws kInvalidArgument while another call works, and
  // kNotSupported where the cache is a ring and some would be left.
  void rewind(size_t length);
  // The tokens in the cache.
  std::vector<int64_t> tokens() const;
  // What the methods hold now. Waits for nothing but the current token.
  std::vector<MethodMemory> memory(Poller* poller);

 private:
  explicit LlmSession(const Program& program);
  // The turn of one caller. A second one is refused: it would change the text under the first.
  class Turn;
  void check_prompt(Span<const int64_t> prompt) const;
  void forget(size_t length);
  size_t shared_length(Span<const int64_t> prompt) const;
  // Computes the rest of the prompt; the logits behind it are in logits_. How much was in the cache.
  size_t catch_up(Span<const int64_t> prompt, Poller* poller);
  // Runs the model on the tokens from `begin` on, of a text that is in the cache before it.
  void feed(Span<const int64_t> text, size_t begin, Poller* poller);
  void run(Method& method, Span<const int64_t> tokens, size_t position, Poller* poller);
  void take_logits(const Tensor& output, size_t token_count);

  LanguageModel model_;
  std::unique_ptr<Method> prefill_;  // nullptr when decode_ does it
  std::unique_ptr<Method> decode_;
  int64_t load_time_ = 0;
  std::vector<float> logits_;  // (vocabulary)
  std::atomic<bool> is_stopped_{false};
  mutable std::mutex mutex_;  // of the two below
  bool is_busy_ = false;
  std::vector<int64_t> tokens_;
};

}  // namespace etlab
